/** The tools of a registry as a model is shown them. */
import { pushAll } from "../../core/collections/push-all.ts";
import { checkRegistry } from "../../core/check-argument.ts";
import { checkKnownKeys } from "../../core/known-keys.ts";
import type { ModelTool } from "../../core/model.ts";
import type { Tool } from "../../core/tool.ts";
import { visibilityOf, type Visibility, type VisibilityRules } from "../../policy/visibility.ts";
import { fingerprintOf } from "../../registry/prepare-toolset.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Registry } from "../../registry/registry.ts";

/** Which tools a model is shown, and with which descriptions. */
export interface ModelToolsOptions {
  /** Rules as in `ExecuteOptions.allow`. Those compiled with `visibilityOf` are applied once for each version of the registry. */
  readonly allow?: VisibilityRules | undefined;
  /** The wire format of the conversation; tools that only other providers run are left out. @default none are left out */
  readonly format?: string | undefined;
  /** Called with each tool that is left out because another provider runs it, once for each version of the registry. */
  readonly onDrop?: (message: string) => void;
}

interface ToolLists {
  readonly version: number;
  /** The tools that are offered, by format. */
  readonly lists: Map<string | undefined, readonly ModelTool[]>;
}

interface View {
  /** The tools that were filtered. */
  readonly list: readonly ModelTool[];
  readonly visible: readonly ModelTool[];
}

const TOOL_LISTS = new WeakMap<Registry, ToolLists>();
const VIEWS = new WeakMap<Visibility, View>();
const MAX_LISTS = 64;

/**
 * Returns the visible tools in the order of the registry's listing, each with its schemas. A tool that the provider runs has no schemas, only the
 * provider's declaration. Tools that cannot be used are left out. Returns the same array as long as neither registry nor options change.
 *
 * @throws ToolError `invalid_argument` for rules of `allow` that cannot be used
 */
export function modelTools(registry: Registry, options: ModelToolsOptions = {}): readonly ModelTool[] {
  checkRegistry(registry, "modelTools()");
  checkKnownKeys(options, { allow: true, format: "string", onDrop: "function" }, "modelTools()");
  const { allow, format, onDrop = () => {} } = options;
  const list = getList(registry, format, onDrop);
  if (allow === undefined) return list;
  const visibility = visibilityOf(allow);
  const view = VIEWS.get(visibility);
  if (view?.list === list) return view.visible;
  const visible = list.filter(({ name }) => visibility.permits(name));
  VIEWS.set(visibility, { list, visible });
  return visible;
}

/** False if only providers of other formats run the tool. */
export function isOfferedBy(tool: Pick<Tool, "providerExecuted" | "providers">, format: string | undefined): boolean {
  if (tool.providerExecuted !== true || format === undefined) return true;
  return tool.providers !== undefined && Object.hasOwn(tool.providers, format);
}

function getList(registry: Registry, format: string | undefined, onDrop: (message: string) => void): readonly ModelTool[] {
  const { version } = registry;
  let made = TOOL_LISTS.get(registry);
  if (made?.version !== version) TOOL_LISTS.set(registry, (made = { version, lists: new Map() }));
  let list = made.lists.get(format);
  if (list === undefined) {
    if (made.lists.size >= MAX_LISTS) made.lists.clear();
    made.lists.set(format, (list = Object.freeze(makeList(registry, format, onDrop))));
  }
  return list;
}

function makeList(registry: Registry, format: string | undefined, onDrop: (message: string) => void): readonly ModelTool[] {
  const tools: ModelTool[] = [];
  const listed = registry.list();
  for (const [index, registered] of listed.entries()) {
    const { tool, qualifiedName } = registered;
    const isOverload = listed[index - 1]?.qualifiedName === qualifiedName || listed[index + 1]?.qualifiedName === qualifiedName;
    if (!isOfferedBy(tool, format)) onDrop(`${qualifiedName} is not offered: ${format ?? ""} does not run it.`);
    else if (tool.unusable === undefined) pushAll(tools, toModelTools(registered, isOverload));
  }
  return tools;
}

/** Returns none for an overload whose schema cannot be distinguished from the others'. */
function toModelTools(registered: RegisteredTool, isOverload: boolean): readonly ModelTool[] {
  const { tool, qualifiedName: name } = registered;
  const { description, inputSchema, outputSchema, providers } = tool;
  const words = providers === undefined ? {} : { providers };
  if (tool.providerExecuted === true) return [{ name, description, inputSchema: {}, providerExecuted: true, ...words }];
  const fingerprint = isOverload ? fingerprintOf(registered) : undefined;
  if (isOverload && fingerprint === undefined) return [];
  const output = outputSchema === undefined ? {} : { outputSchema };
  return [{ name, description, inputSchema, ...output, ...(fingerprint === undefined ? {} : { fingerprint }), ...words }];
}
