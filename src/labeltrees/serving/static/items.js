"use strict";
// A field for one column: a text, or items to pick. The server looks up what is typed; Enter adds it, a button removes it.

const made = (tag, attributes) => Object.assign(document.createElement(tag), attributes);
const listed = text => text.split(",").map(part => part.trim()).filter(part => part);

function itemField(column, canPick, {find, changed}) {
  const field = made("div", {className: "field"});
  const id = `column-${column}`;
  const input = made("input", {type: "text", id, autocomplete: "off"});
  const name = column === "items" ? "Items" : column;
  field.dataset.column = column;
  field.append(made("label", {htmlFor: id, textContent: name}), input);
  if (!canPick) return field;
  const options = made("datalist", {id: `${id}-names`});
  const hint = made("p", {className: "hint", id: `${id}-hint`, textContent: "Type a part of a name; Enter adds it, a click on it removes it."});
  const picked = made("ul", {className: "picked"});
  picked.setAttribute("aria-label", `${name} that were picked`);
  input.setAttribute("list", options.id);
  input.setAttribute("aria-describedby", hint.id);
  field.append(options, hint, picked);
  const add = (...items) => {
    for (const item of items) {
      const button = made("button", {type: "button", textContent: item});
      button.setAttribute("aria-label", `Remove ${item}`);
      const line = made("li", {});
      line.append(button);
      button.addEventListener("click", () => { line.remove(); input.focus(); changed(); });
      picked.append(line);
    }
    input.value = "";
    options.replaceChildren();
    changed();
  };
  // Enter takes what is typed if it is a name, else the first suggestion.
  input.addEventListener("keydown", async event => {
    const typed = input.value.trim();
    if (event.key !== "Enter" || !typed) return;
    const names = await find(typed).catch(() => []);
    if (input.value.trim() !== typed) return;
    const exact = names.find(name => name.toLowerCase() === typed.toLowerCase());  // a name can have commas
    if (!exact && typed.includes(",")) { add(...listed(typed)); return; }
    add(exact || names[0] || typed);
  });
  let last = 0;
  input.addEventListener("input", async event => {
    event.stopPropagation();  // the page asks when an item was added
    const typed = input.value;
    const isChosen = event.inputType === "insertReplacementText" || !event.inputType;  // in the list, not typed
    if (isChosen && [...options.children].some(option => option.value === typed)) { add(typed); return; }
    const number = ++last;
    const names = typed.trim() ? await find(typed.trim()).catch(() => []) : [];
    if (number === last && input.value === typed) options.replaceChildren(...names.map(value => made("option", {value})));
  });
  return field;
}

// Returns what a field holds: a list of items, a text, or null for nothing.
function itemValue(field) {
  const typed = field.querySelector("input").value.trim();
  const picked = [...field.querySelectorAll(".picked button")].map(button => button.textContent);
  if (field.querySelector(".picked") === null) return typed.includes(",") ? listed(typed) : typed || null;
  return picked.length ? picked : null;
}
