/** The configuration files that this user trusts to start programs and widen rights, with the digest that was trusted. */
import { dirname, join } from "node:path";
import { ToolError, describeThrown } from "../../../core/error.ts";
import { makeFolder } from "../../../core/system/make-folder.ts";
import { isJsonObject, type JsonObject } from "../../../core/base/json.ts";
import { parseJson } from "../../../core/base/parse-json.ts";
import { stateFolder } from "../../open/state-folder.ts";
import { replaceFile } from "../../../documents/replace-file.ts";
import { readTextFile } from "../../../documents/read-text-file.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const FORMAT = "haft-trust";
const VERSION = 1;
const MAX_BYTES = 4 * 1024 * 1024;

/** Returns the path of the list: `$XDG_STATE_HOME/haft/trusted.json`, else `~/.local/state/haft/trusted.json`. */
function trustedFilesPath(environment: Environment): string {
  return join(stateFolder(environment), "trusted.json");
}

/** Looks a file up; `changed` = trusted with another digest. An unreadable list counts as empty. @param path absolute. @param digest of its text */
export async function getTrustState(environment: Environment, path: string, digest: string): Promise<"trusted" | "changed" | "unknown"> {
  const files = await readFiles(environment).catch(() => undefined);
  if (files === undefined || !Object.hasOwn(files, path)) return "unknown";
  return files[path] === digest ? "trusted" : "changed";
}

/** Trusts the file with this digest instead of an earlier one. @throws ToolError `store_failed` */
export async function trustFile(environment: Environment, path: string, digest: string): Promise<void> {
  const files = await readFilesOrEmpty(environment);
  await writeFiles(environment, { ...files, [path]: digest });
}

/** Revokes the trust in a file; false if it was not trusted. @throws ToolError `store_failed` */
export async function distrustFile(environment: Environment, path: string): Promise<boolean> {
  const files = await readFilesOrEmpty(environment);
  if (!Object.hasOwn(files, path)) return false;
  await writeFiles(environment, Object.fromEntries(Object.entries(files).filter(([other]) => other !== path)));
  return true;
}

/** Reads the list; a damaged one counts as empty, so that every file is asked about again. @throws ToolError `store_failed` for a newer version */
async function readFilesOrEmpty(environment: Environment): Promise<JsonObject> {
  try {
    return await readFiles(environment);
  } catch (thrown: unknown) {
    if (ToolError.fromUnknown(thrown).code === "store_failed") throw thrown;
    return {};
  }
}

async function readFiles(environment: Environment): Promise<JsonObject> {
  const path = trustedFilesPath(environment);
  const text = await readTextFile({
    path,
    what: "list of trusted files",
    code: "invalid_config",
    maxBytes: MAX_BYTES,
    hint: "It is a file that haft trust writes.",
  });
  const value = parseJson(text);
  const { format, version, files } = isJsonObject(value) ? value : ({} as JsonObject); // not an object: fails below
  if (format !== FORMAT || typeof version !== "number" || !isJsonObject(files))
    throw new ToolError("invalid_config", `${path} is not a file that haft trust wrote.`);
  if (version === VERSION) return files;
  throw new ToolError("store_failed", `${path} is of version ${version}; this version of Haft reads ${VERSION}.`, {
    hint: "Use the version of Haft that wrote it, or remove the file: then every configuration is asked about again.",
  });
}

async function writeFiles(environment: Environment, files: JsonObject): Promise<void> {
  const path = trustedFilesPath(environment);
  try {
    await makeFolder(dirname(path), 0o700);
    await replaceFile(path, `${JSON.stringify({ format: FORMAT, version: VERSION, files }, undefined, 2)}\n`, { mode: 0o600 });
  } catch (thrown: unknown) {
    const failure = thrown instanceof ToolError ? thrown.cause : thrown; // the message of replaceFile repeats the path
    throw new ToolError("store_failed", `The trust cannot be saved in ${path}: ${describeThrown(failure)}.`, {
      hint: "Set XDG_STATE_HOME to a writable folder, or name the configuration: --config.",
      cause: thrown,
    });
  }
}
