/** The version of this package, as its manifest has it. */
import { readFileSync } from "node:fs";
import { isJsonObject } from "../core/base/json.ts";
import { parseJson } from "../core/base/parse-json.ts";

export function packageVersion(): string {
  const manifest = parseJson(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return isJsonObject(manifest) && typeof manifest["version"] === "string" ? manifest["version"] : "unknown";
}
