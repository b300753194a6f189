/** Reads `documentation`: for each tool, the file whose text replaces its documentation. */
import { ToolError } from "../../core/error.ts";
import { readTextFile } from "../../documents/read-text-file.ts";
import type { DocumentationOverrides } from "../../registry/documentation.ts";
import { filePath, liesOutside } from "../file-path.ts";
import type { TableReader } from "../table-reader.ts";

const MAX_BYTES = 1024 * 1024;

/** Returns absolute paths, by qualified or bare name. */
export function readDocumentationPaths(table: TableReader, folder: string): ReadonlyMap<string, string> {
  return new Map(table.mapEntries((name) => documentPath(table, name, folder)));
}

/** Returns the file that a key names. Undefined if it may not be read, which is reported. */
export function documentPath(table: TableReader, key: string, folder: string): string | undefined {
  const path = table.text(key);
  if (path === undefined) return undefined;
  try {
    const file = filePath(path, folder);
    if (path.endsWith(ENDING) && !liesOutside(folder, file)) return file;
    table.report(key, `must be a Markdown file (${ENDING}) inside the folder of this file: models read it.`);
  } catch (thrown: unknown) {
    table.report(key, ToolError.fromUnknown(thrown).message);
  }
  return undefined;
}

const ENDING = ".md";

/** @throws ToolError `invalid_config` for a file that cannot be read, by rejecting */
export async function readDocumentation(paths: ReadonlyMap<string, string>): Promise<DocumentationOverrides> {
  const texts = new Map<string, string>();
  for (const [name, path] of paths) {
    const text = await readTextFile({
      path,
      what: "documentation",
      code: "invalid_config",
      maxBytes: MAX_BYTES,
      hint: "Give a Markdown file, such as edit.md.",
    });
    texts.set(name, text.trim());
  }
  return texts;
}
