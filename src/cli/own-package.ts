/** This package, as it is installed. */
import { readFileSync } from "node:fs";
import { isJsonObject } from "../core/base/json.ts";
import { parseJson } from "../core/base/parse-json.ts";

/** The address of a file next to its manifest. The file of this code is two folders below that, in the source as in the package. */
export function packageFile(name: string): URL {
  return new URL(`../../${name}`, import.meta.url);
}

/** Its version, as its manifest has it. */
export function packageVersion(): string {
  const manifest = parseJson(readFileSync(packageFile("package.json"), "utf8"));
  return isJsonObject(manifest) && typeof manifest["version"] === "string" ? manifest["version"] : "unknown";
}
