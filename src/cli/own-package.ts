/** Files and version of this package, as it is installed. */
import { readFileSync } from "node:fs";
import { isJsonObject } from "../core/base/json.ts";
import { parseJson } from "../core/base/parse-json.ts";

/** Returns the URL of a file next to the manifest, two folders above this file in the source as in the package. */
export function packageFile(name: string): URL {
  return new URL(`../../${name}`, import.meta.url);
}

/** Returns the version of the manifest. */
export function packageVersion(): string {
  const manifest = parseJson(readFileSync(packageFile("package.json"), "utf8"));
  return isJsonObject(manifest) && typeof manifest["version"] === "string" ? manifest["version"] : "unknown";
}
