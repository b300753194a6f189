/** The options of a registry and of a registration, and their checks. */
import { CALL_SETTINGS, checkSettings } from "../core/call-settings.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { CallSettings } from "../core/tool.ts";
import type { PermissionRules } from "../policy/permission.ts";

/** Options of a registry. */
export interface RegistryOptions {
  /** The settings of tools that neither they nor their toolset set. */
  readonly defaults?: CallSettings;
  /** Let `register` add several tools of one name when their input schemas differ. @default false */
  readonly overloads?: boolean;
  /** The tools for models and clients: a tool that the rules deny is in no listing or search, and no call reaches it. @default all */
  readonly permission?: PermissionRules;
  /** Called with look-alike names and tools that were left out. @default they are not reported; the registry that a runtime makes writes them to its log */
  readonly onWarning?: (message: string) => void;
}

/** The options of `Registry.register()`. */
export interface RegisterOptions {
  /** Allow another tool of this name when its input schema differs. @default what the toolset or the registry says */
  readonly overload?: boolean;
}

const OPTIONS: OptionNames<RegistryOptions> = { defaults: true, overloads: true, permission: true, onWarning: "function" };

/** @throws ToolError `invalid_argument` */
export function checkRegistryOptions(options: RegistryOptions): void {
  checkKnownKeys(options, OPTIONS, "new Registry()");
  const { defaults = {} } = options;
  checkKnownKeys(defaults, CALL_SETTINGS, "new Registry({ defaults })");
  checkSettings(defaults, "the registry");
}

/** @throws ToolError `invalid_argument` */
export function checkRegisterOptions(options: RegisterOptions): void {
  checkKnownKeys(options, { overload: "boolean" }, "register()");
}
