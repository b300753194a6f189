/** Real servers on 127.0.0.1 for tests: HTTP, HTTPS, and bare sockets that answer whatever a test writes. All are closed after the test. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import * as net from "node:net";
import { onTestFinished } from "vitest";

export const CERTIFICATE = readFileSync(new URL("localhost-certificate.pem", import.meta.url), "utf8");
export const KEY = readFileSync(new URL("localhost-key.pem", import.meta.url), "utf8");

export interface LoopbackServer {
  readonly port: number;
  /** `127.0.0.1:port`, as allowPrivate takes it. */
  readonly host: string;
  /** The address of a path on it. */
  at(path: string): URL;
}

export async function httpServer(listener: http.RequestListener): Promise<LoopbackServer> {
  const server = http.createServer({ keepAliveTimeout: 0 }, listener);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return listen(server, "http");
}

export async function httpsServer(listener: http.RequestListener): Promise<LoopbackServer> {
  const server = https.createServer({ cert: CERTIFICATE, key: KEY, keepAliveTimeout: 0 }, listener);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return listen(server, "https");
}

/** A server that knows no HTTP: `answer` gets each connection. */
export async function socketServer(answer: (socket: net.Socket) => void): Promise<LoopbackServer> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    answer(socket);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return listen(server, "http");
}

/** A bare server that answers the first bytes of every connection with `text`, and keeps the connection. */
export function rawAnswer(text: string | Uint8Array): Promise<LoopbackServer> {
  return socketServer((socket) => socket.once("data", () => socket.write(text)));
}

async function listen(server: net.Server, scheme: string): Promise<LoopbackServer> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  const host = `127.0.0.1:${address.port}`;
  return { port: address.port, host, at: (path) => new URL(path, `${scheme}://${host}`) };
}
