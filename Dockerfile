# A server for labeltrees models:
#   docker build -t labeltrees .
#   docker run --rm -p 127.0.0.1:8000:8000 -v "$PWD/models:/models:ro" labeltrees /models/debian.model
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY CMakeLists.txt pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --wheel-dir /wheels ".[serve]"

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels "labeltrees[serve]" && rm -rf /wheels \
    && useradd --create-home --uid 10001 labeltrees
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=5s --timeout=2s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/ready', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["labeltrees", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["/models/model"]
