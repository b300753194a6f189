/** The options of a registry and of a registration, with their checks. */
import { CALL_SETTINGS, checkCallSettings } from "../core/call-settings.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { CallSettings } from "../core/tool.ts";
import type { PermissionRules } from "../policy/permission.ts";

/** Options of a registry. */
export interface RegistryOptions {
  /** Settings for tools where neither they nor their toolset set them. */
  readonly defaults?: CallSettings;
  /** Whether `register` may add several tools of one name if their input schemas differ. @default false */
  readonly overloads?: boolean;
  /** The tools for models and clients. A denied tool is in no listing or search, and no call reaches it. @default all */
  readonly permission?: PermissionRules;
  /** Called with look-alike names and with tools that were left out. @default not reported; a runtime's registry logs them */
  readonly onWarning?: (message: string) => void;
}

/** The options of `Registry.register()`. */
export interface RegisterOptions {
  /** Whether another tool of this name is allowed if its input schema differs. @default the setting of the toolset or the registry */
  readonly overload?: boolean;
}

const OPTIONS: OptionNames<RegistryOptions> = { defaults: true, overloads: true, permission: true, onWarning: "function" };

/** @throws ToolError `invalid_argument` */
export function checkRegistryOptions(options: RegistryOptions): void {
  checkKnownKeys(options, OPTIONS, "new Registry()");
  const { defaults = {} } = options;
  checkKnownKeys(defaults, CALL_SETTINGS, "new Registry({ defaults })");
  checkCallSettings(defaults, "the registry");
}

/** @throws ToolError `invalid_argument` */
export function checkRegisterOptions(options: RegisterOptions): void {
  checkKnownKeys(options, { overload: "boolean" }, "register()");
}
