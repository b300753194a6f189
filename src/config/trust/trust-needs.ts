/** The reasons why a configuration must be trusted: servers that it starts, code that it imports, data that it sends, and further rights of tools. */
import { pushAll } from "../../core/collections/push-all.ts";
import { hash } from "node:crypto";
import { formatJsonPath } from "../../core/base/json.ts";
import { ToolError } from "../../core/error.ts";
import type { KeyPath } from "../../documents/key-positions.ts";
import { descriptorsToTrust } from "../tools/descriptor-source.ts";
import { filePath } from "../file-path.ts";
import type { LoadedConfig } from "../load-config.ts";
import { toRegistryEntries } from "../haft-config.ts";
import { commandLine, importLine, sentLine } from "./trust-lines.ts";
import type { ToolsetConfig } from "../tables/toolset-config.ts";
import { widenedRights, type WidenedRight } from "./widened-rights.ts";

export interface TrustNeeds {
  /** The programs that are started, one line each, in the order of the file, without the values of variables. */
  readonly starts: readonly string[];
  /** The variables, keys and conversations that are sent to servers, one line each. */
  readonly sends: readonly string[];
  /** The limits of tools that are loosened, one line each. */
  readonly widens: readonly string[];
  /** SHA-256 of the configuration and of the descriptors that need trust, in hex: identifies what the user has seen. */
  readonly digest: string;
  /** The digests of these descriptors. */
  readonly descriptors: ReadonlySet<string>;
}

/** Collects the reasons, including those of descriptors that the configuration names. Nothing is started. */
export async function trustNeeds(loaded: LoadedConfig): Promise<TrustNeeds> {
  const { config, redact, sent, digest } = loaded;
  const starts: string[] = [];
  const rights = widenedRights(loaded);
  const lineOf = ({ path, what }: WidenedRight): string => redact(`${keyOf(path)} ${what}`);
  const sends = [...sent.map(({ place, name }) => `${keyOf(place)} ${sentLine(name)}`), ...rights.sends.map(lineOf)];
  const widens = rights.widens.map(lineOf);
  const descriptors = new Set<string>();
  const add = (path: KeyPath, what: string): void => void starts.push(redact(`${keyOf(path)} ${what}`));
  for (const module of config.extensions) add(["extensions"], importLine(module));
  for (const { path, toolset } of toRegistryEntries(config)) {
    for (const what of toolset.enabled ? listStarted(toolset) : []) add(path, what);
    for (const descriptor of await readDescriptorsToTrust(toolset, loaded)) {
      descriptors.add(descriptor.digest);
      pushAll(
        starts,
        descriptor.starts.map((line) => `${keyOf(path)}: ${line}`),
      );
      pushAll(
        sends,
        descriptor.sends.map((line) => `${keyOf(path)}: ${line}`),
      );
      pushAll(
        widens,
        descriptor.widens.map((line) => `${keyOf(path)}: ${line}`),
      );
    }
  }
  for (const [name, engine] of config.engines) {
    if (engine.type === "mcp" && engine.server?.command !== undefined) add(["engines", name], commandLine(engine.server));
  }
  return { starts, sends, widens, digest: digestOf(digest, descriptors), descriptors };
}

function keyOf(path: KeyPath): string {
  return formatJsonPath(path).slice(2);
}

function listStarted(toolset: ToolsetConfig): readonly string[] {
  if (toolset.type === "mcp") return toolset.command === undefined ? [] : [commandLine(toolset)];
  if (toolset.type === "module") return [importLine(toolset.path)];
  if (toolset.type === "descriptors" && toolset.module !== undefined) return [importLine(toolset.module)];
  if (toolset.type !== "command") return [];
  return toolset.tools.map(
    ({
      template: {
        command: [command = "", ...args],
      },
    }) => commandLine({ command, args }),
  );
}

async function readDescriptorsToTrust(
  toolset: ToolsetConfig,
  { folder, environment, config }: LoadedConfig,
): ReturnType<typeof descriptorsToTrust> {
  if (!toolset.enabled || toolset.type !== "descriptors") return [];
  try {
    const allowedInPaths = new Set(config.allowVariables);
    return await descriptorsToTrust(filePath(toolset.path, folder), { environment, allowedInPaths });
  } catch (thrown: unknown) {
    if (thrown instanceof ToolError) return []; // opening reports the problem of the path
    throw thrown;
  }
}

function digestOf(config: string, descriptors: ReadonlySet<string>): string {
  return descriptors.size === 0 ? config : hash("sha256", [config, ...[...descriptors].toSorted()].join("\n"));
}
