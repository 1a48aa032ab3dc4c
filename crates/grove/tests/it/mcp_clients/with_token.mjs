// Stands before `grove mcp --http` and adds the token, for clients that cannot be given one.
//
// usage: node with_token.mjs ADDRESS TOKEN
//
// Prints its own address. A request that names this address as its host names the server behind it; one that names another
// host or origin is passed on as it is, so that the server can refuse it.

import http from "node:http";

const [address, token] = process.argv.slice(2);
const target = new URL(address);
const own = () => `127.0.0.1:${server.address().port}`;

const server = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const names = [own(), `localhost:${server.address().port}`];
  if (names.includes(headers.host)) headers.host = target.host;
  if (names.some((name) => headers.origin === `http://${name}`)) headers.origin = `http://${target.host}`;
  const passed = http.request(
    { host: target.hostname, port: target.port, path: request.url, method: request.method, headers },
    (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
    },
  );
  passed.on("error", () => response.destroy());
  response.on("close", () => passed.destroy());
  request.pipe(passed);
});
server.listen(0, "127.0.0.1", () => console.log(`http://${own()}/mcp`));
