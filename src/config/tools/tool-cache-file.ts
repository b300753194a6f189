/** Keeps the tool lists of servers in the user's cache folder, one file per server. */
import { createHmac } from "node:crypto";
import { lstat, open, readFile } from "node:fs/promises";
import type { Stats } from "node:fs";
import { join } from "node:path";
import { homeFolder, isFullyQualifiedPath } from "../../documents/home-folder.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import { copyJson, isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { makeFolder } from "../../core/system/make-folder.ts";
import type { Tool } from "../../core/tool.ts";
import { readTextFile } from "../../documents/read-text-file.ts";
import type { ToolMemory } from "../../engine/known-tools.ts";
import { checkToolFields } from "../../registry/check-tool-fields.ts";
import { replaceFile } from "../../documents/replace-file.ts";
import { createSecret } from "../../net/secret.ts";
import type { Environment } from "../variables.ts";

const FORMAT = "haft-tools";
const VERSION = 1;
const MAX_BYTES = 64 * 1024 * 1024;
const LIMITS = { maxDepth: 136, maxNodes: 4_000_000, maxChars: MAX_BYTES };
/** Only this user may read the answers of a server. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const WRITABLE_BY_OTHERS = 0o022;

/** Returns `$XDG_CACHE_HOME/haft/tools`, or `~/.cache/haft/tools`. */
export function toolCacheFolder(environment: Environment = process.env): string {
  const given = environment["XDG_CACHE_HOME"] ?? "";
  return join(isFullyQualifiedPath(given) ? given : join(homeFolder(), ".cache"), "haft", "tools");
}

/**
 * Returns a tool memory in files that only this user can read.
 *
 * The name of a file is a keyed hash of the server's key, with a random salt per folder, so that neither names nor files reveal a secret that is part
 * of the key. A list that is not plain JSON, for example because tools hold functions, is not kept. Both methods reject if a file belongs to another
 * user or is damaged, or the folder cannot be written.
 */
export function toolCacheFiles(folder: string): ToolMemory {
  let salt: Promise<string> | undefined;
  const fileOf = async (key: string): Promise<string> => {
    salt ??= readSalt(folder);
    return join(
      folder,
      `${createHmac("sha256", await salt)
        .update(key)
        .digest("hex")}.json`,
    );
  };
  return {
    async read(key) {
      if ((await statOf(folder)) === undefined) return undefined;
      const path = await fileOf(key);
      const info = await statOf(path);
      if (info === undefined) return undefined;
      checkOwner(path, info);
      return parseTools(
        await readTextFile({ path, what: "remembered tools", code: "invalid_config", maxBytes: MAX_BYTES, hint: REMOVE }),
        path,
      );
    },
    async write(key, tools) {
      const text = toolsText(tools);
      if (text === undefined) return;
      await makeFolder(folder, FOLDER_MODE);
      await replaceFile(await fileOf(key), text, { mode: FILE_MODE });
    },
  };
}

const REMOVE = "Remove it; it is written again.";

/** Returns undefined for tools that could not be restored exactly. */
function toolsText(tools: readonly Tool[]): string | undefined {
  try {
    const { value, dropped } = copyJson(tools, LIMITS);
    if (dropped.length > 0 || !isJsonArray(value)) return undefined;
    for (const tool of value) checkTool(tool);
    const text = `${JSON.stringify({ format: FORMAT, version: VERSION, tools: value })}\n`;
    return Buffer.byteLength(text) > MAX_BYTES ? undefined : text;
  } catch {
    return undefined; // a function, or a tool that the registry would disable: the server is started each time instead
  }
}

function parseTools(text: string, path: string): readonly Tool[] {
  try {
    const { value } = copyJson(parseJson(text, LIMITS), LIMITS);
    if (!isJsonObject(value) || value["format"] !== FORMAT || value["version"] !== VERSION) throw new Error("it is of another format");
    const { tools } = value;
    if (!isJsonArray(tools)) throw new Error("it holds no array of tools");
    return tools.map(checkTool);
  } catch (error: unknown) {
    throw new ToolError("invalid_config", `The remembered tools in ${path} are damaged: ${describeThrown(error)}`, {
      hint: REMOVE,
      cause: error,
    });
  }
}

function checkTool(value: JsonValue): Tool {
  const tool: unknown = value;
  checkToolFields(tool);
  return tool;
}

/** Refuses a cache that another user could have written, because it describes tools. */
function checkOwner(path: string, info: Stats): void {
  const isOurs = process.getuid === undefined || (info.uid === process.getuid() && (info.mode & WRITABLE_BY_OTHERS) === 0);
  if (info.isFile() && isOurs) return;
  throw new ToolError("invalid_config", `${path} is not a file that only this user can write.`, { hint: REMOVE });
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error: unknown) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Returns the salt of a folder, which is created with the first file. */
async function readSalt(folder: string): Promise<string> {
  const path = join(folder, "salt");
  await makeFolder(folder, FOLDER_MODE);
  try {
    const file = await open(path, "wx", FILE_MODE);
    try {
      const salt = createSecret();
      await file.writeFile(salt);
      return salt;
    } finally {
      await file.close();
    }
  } catch (error: unknown) {
    if (systemErrorCode(error) !== "EEXIST") throw error;
    const info = await lstat(path);
    checkOwner(path, info);
    const salt = await readFile(path, "utf8");
    if (salt === "") throw new ToolError("invalid_config", `${path} is empty.`, { hint: REMOVE, cause: error });
    return salt;
  }
}
