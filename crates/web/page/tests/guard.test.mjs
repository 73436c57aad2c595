// Who may speak to the server.
import assert from "node:assert/strict";
import http from "node:http";
import { after, before } from "node:test";
import { closeAll, limit, serve, test } from "./helpers.mjs";

let server;
before(async () => (server = await serve("ball_drop")), limit);
after(closeAll, limit);

const ask = (path, headers = {}) =>
  new Promise((resolve, reject) => {
    const request = http.request({ host: "127.0.0.1", port: server.url.port, path, headers }, (response) => {
      response.resume();
      resolve({ status: response.statusCode, headers: response.headers });
    });
    request.on("upgrade", (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode, headers: response.headers });
    });
    request.on("error", reject);
    request.end();
  });
const upgrade = { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==" };

test("the token is required", async () => {
  for (const path of ["/", "/?token=", "/?token=0123456789abcdef0123456789abcdef", "/ws", "/anything"]) {
    assert.equal((await ask(path)).status, 403, path);
  }
  assert.equal((await ask(`/anything${server.url.search}`)).status, 404);
});

test("the page comes with a policy that lets it speak to its server alone", async () => {
  const { status, headers } = await ask(`/${server.url.search}`);
  assert.equal(status, 200);
  const policy = headers["content-security-policy"];
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /script-src 'nonce-[0-9a-f]{32}'/);
  assert.equal(headers["cache-control"], "no-store");
  assert.equal(headers["referrer-policy"], "no-referrer");
});

test("another host name is refused", async () => {
  assert.equal((await ask(`/${server.url.search}`, { Host: "evil.example" })).status, 403);
  assert.equal((await ask(`/${server.url.search}`, { Host: `evil.example:${server.url.port}` })).status, 403);
});

test("a websocket of another origin is refused", async () => {
  const path = `/ws${server.url.search}`;
  assert.equal((await ask(path, { ...upgrade, Origin: server.url.origin })).status, 101);
  for (const Origin of ["http://evil.example", "null", `http://evil.example:${server.url.port}`, `https://127.0.0.1:${server.url.port}`]) {
    assert.equal((await ask(path, { ...upgrade, Origin })).status, 403, Origin);
  }
  assert.equal((await ask(path, upgrade)).status, 403, "no origin");
  assert.equal((await ask("/ws", { ...upgrade, Origin: server.url.origin })).status, 403, "no token");
});
