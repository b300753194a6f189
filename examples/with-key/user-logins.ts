/** A gateway whose users log in to the server behind it, each with their own account. Needs that server and accounts on it. */
import { createRuntime } from "haft";
import { UserLogins, mcpToolset } from "haft/mcp";
import { listenMcp, type Authenticator } from "haft/mcp-server";

const logins = new UserLogins({ origin: "https://tools.example", folder: "/var/lib/haft/logins" });
const runtime = createRuntime({
  toolsets: [mcpToolset("tickets", { url: "https://tickets.example/mcp", auth: { type: "user-login", logins } })],
});
await runtime.open();

const users = new Map([
  [process.env["KEY_OF_ADA"], "ada"],
  [process.env["KEY_OF_GRACE"], "grace"],
]);
const authenticator: Authenticator = {
  async authenticate({ headers }) {
    const id = users.get(headers.get("authorization")?.slice("Bearer ".length) ?? "none");
    return id === undefined ? undefined : { id, name: id, scopes: new Set(["execute"]) };
  },
};
await listenMcp(runtime, { port: 3000, allowedHosts: ["tools.example"], authenticator, logins });
