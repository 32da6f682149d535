"use strict";
// Shows the OpenAPI document: every operation with its parameters, body, answers and a command to try.

function make(tag, text, ...children) {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
}

const link = name => Object.assign(make("a", name), {href: `#${name}`});

function typeOf(schema) {
  if (!schema) return make("span");
  if (schema.$ref) return make("span", "", link(schema.$ref.split("/").pop()));
  const joined = (schemas, word) => {
    const all = make("span");
    schemas.forEach((one, place) => all.append(place ? word : "", typeOf(one)));
    return all;
  };
  if (schema.anyOf) return joined(schema.anyOf, " or ");
  if (schema.prefixItems) return make("span", "[", joined(schema.prefixItems, ", "), "]");
  if (schema.type === "array") return make("span", "list of ", typeOf(schema.items));
  if (schema.enum) return make("span", schema.enum.map(value => JSON.stringify(value)).join(", "));
  const limits = [["minimum", "≥"], ["exclusiveMinimum", ">"], ["maximum", "≤"], ["exclusiveMaximum", "<"]]
    .filter(([key]) => key in schema).map(([key, sign]) => ` ${sign} ${schema[key]}`);
  return make("span", (schema.type || "any") + limits.join(","));
}

function table(head, rows) {
  const line = (cells, tag) => make("tr", "", ...cells.map(cell => make(tag, "", cell)));
  const box = make("div", "", make("table", "", line(head, "th"), ...rows.map(cells => line(cells, "td"))));
  box.className = "wide";
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "Table");
  return box;
}

// The path of an operation for the first model, or for a name to fill in.
const pathOf = (path, operation) => path.replace("{name}", ((operation.parameters || [{schema: {}}])[0].schema.enum || ["NAME"])[0]);

function command(method, path, operation) {
  const body = JSON.stringify(operation.requestBody.content["application/json"].example);
  return `curl ${method === "put" ? "-X PUT " : ""}-d '${body}' ${location.origin}${pathOf(path, operation)}`;
}

// One request to copy, and a form to send it from here.
function showTry(path, operation) {
  const example = operation.requestBody.content["application/json"].example;
  const body = Object.assign(make("textarea", JSON.stringify(example)), {id: "try-body", rows: 3, spellcheck: false});
  const key = Object.assign(make("input"), {id: "try-key", type: "password", autocomplete: "off"});
  const send = Object.assign(make("button", "Send"), {type: "submit"});
  const answer = Object.assign(make("pre"), {id: "try-answer"});
  answer.setAttribute("aria-live", "polite");
  const label = (text, field) => Object.assign(make("label", text), {htmlFor: field.id});
  const form = make("form", "", label("Body", body), body, label("API key, if the server has keys", key), key, send);
  form.addEventListener("submit", async event => {
    event.preventDefault();
    const headers = {"Content-Type": "application/json", ...(key.value ? {Authorization: `Bearer ${key.value}`} : {})};
    const reply = await fetch(pathOf(path, operation), {method: "POST", headers, body: body.value}).catch(error => error);
    const text = reply instanceof Error ? reply.message : await reply.text();
    try { answer.textContent = JSON.stringify(JSON.parse(text), null, 1); } catch { answer.textContent = text; }
  });
  const section = make("section", "", make("h2", "Try it"), make("pre", command("post", path, operation)), form, answer);
  section.id = "try";
  return section;
}

function showOperation(path, method, operation) {
  const section = make("section", "", make("h2", `${method.toUpperCase()} ${path}`), make("p", operation.summary));
  if (operation.requestBody) {
    const content = operation.requestBody.content["application/json"];
    section.append(make("p", "Body: ", typeOf(content.schema)));
    section.append(make("pre", command(method, path, operation)));
  }
  const rows = Object.entries(operation.responses).map(([status, response]) => {
    const schema = Object.values(response.content || {})[0];
    return [status, response.description, typeOf(schema && schema.schema)];
  });
  section.append(table(["status", "meaning", "body"], rows));
  return section;
}

function showSchema(name, schema) {
  const required = schema.required || [];
  const rows = Object.entries(schema.properties || {}).map(([field, type]) => [
    field + (required.includes(field) ? " *" : ""), typeOf(type), "default" in type ? JSON.stringify(type.default) : "", type.description || "",
  ]);
  const section = make("section", "", make("h2", name), make("p", schema.description || ""), table(["field", "type", "default", "meaning"], rows));
  section.id = name;
  return section;
}

async function show() {
  const document_ = await (await fetch("/openapi.json")).json();
  const parts = Object.entries(document_.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => showOperation(path, method, operation)));
  const predict = "/v1/models/{name}/predict";
  const first = showTry(predict, document_.paths[predict].post);
  const schemas = Object.entries(document_.components.schemas).map(([name, schema]) => showSchema(name, schema));
  document.getElementById("content").replaceChildren(make("p", document_.info.description), first, ...parts, ...schemas);
}

show().catch(error => { document.getElementById("content").textContent = `The description cannot be shown: ${error.message}`; });
