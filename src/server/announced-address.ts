/** The address that a server announces to the other processes of its store. */
import { ToolError } from "../core/error.ts";

/** Wildcard addresses to listen on. A machine that connects to one reaches itself. */
const WILDCARD_ADDRESS = /^(?:0\.0\.0\.0|\[?::\]?)$/u;

/** The origin to announce to other processes; undefined for the one listened on, or for none. @throws ToolError `invalid_argument` */
export function resolveAnnouncedAddress(address: string | boolean, host: string): URL | undefined {
  const announced = typeof address === "string" ? parseOrigin(address) : undefined;
  const name = announced?.hostname ?? host;
  if (address === false || !WILDCARD_ADDRESS.test(name)) return announced;
  throw new ToolError("invalid_argument", `The address ${name} cannot be announced: other machines that use it would reach themselves.`, {
    hint: "Give listen() an address by which other processes reach this one, such as http://10.0.0.3:7420",
  });
}

/** @throws ToolError `invalid_argument` */
function parseOrigin(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url !== undefined && /^https?:$/u.test(url.protocol) && url.href === `${url.origin}/`) return url;
  throw new ToolError("invalid_argument", `The address ${JSON.stringify(address.slice(0, 200))} is not the origin of a server.`, {
    hint: "An origin has a scheme, a host and a port, and no path: http://10.0.0.3:7420",
  });
}
