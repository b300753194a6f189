/** Reads the channels and triggers of a configuration, and adds them to those of a program. */
import { copyJson, isJsonObject } from "../../core/base/json.ts";
import { COUNT } from "../../core/base/number-bounds.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { checkVisibleName } from "../../core/base/visible-name.ts";
import { ToolError, formatForOperator } from "../../core/error.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import type { ChannelOptions } from "../../triggers/channel.ts";
import { Channels, createChannels } from "../../triggers/channels.ts";
import type { KnownTrigger } from "../../triggers/known-triggers.ts";
import type { NamedTrigger } from "../../triggers/session-triggers.ts";
import { SettingsError } from "../../triggers/settings-error.ts";
import { createTriggers, type Triggers } from "../../triggers/triggers.ts";
import type { TableReader } from "../table-reader.ts";

/** An entry of `channels`. */
export interface ChannelConfig extends ChannelOptions {
  readonly name: string;
}

const KINDS = ["queue", "broadcast"] as const;
const WHEN_FULL = ["wait", "refuse"] as const;

/** Returns the channels in the order of the file. Invalid ones are reported at their places and left out. */
export function readChannels(root: TableReader): readonly ChannelConfig[] {
  const channels = createChannels();
  return (root.tables("channels") ?? []).flatMap((table) => {
    const name = table.requiredText("name", "the name that agents use for it");
    const options = omitUndefined({
      kind: table.choice("kind", KINDS),
      description: table.text("description"),
      capacity: table.number("capacity", COUNT),
      whenFull: table.choice("whenFull", WHEN_FULL),
    });
    table.reportUnknownKeys();
    if (name === undefined) return [];
    try {
      if (channels.find(name) !== undefined) throw new ToolError("duplicate", "is the name of another channel already.");
      channels.open(name, options);
      return [{ name, ...options }];
    } catch (thrown: unknown) {
      reportSettingsError(table, "name", thrown);
      return [];
    }
  });
}

/** Returns the triggers in the order of the file. Settings are checked like those of a trigger that is added at runtime. */
export function readTriggers(root: TableReader, channels: readonly ChannelConfig[]): readonly NamedTrigger[] {
  const tables = root.tables("triggers") ?? [];
  if (tables.length === 0) return [];
  const open = new Channels(systemPorts);
  for (const { name, ...options } of channels) open.open(name, options);
  const { kinds } = createTriggers({ channels: open });
  const names = new Set<string>();
  return tables.flatMap((table) => {
    const type = table.choice("type", [...kinds.keys()], { required: true });
    const name = readName(table);
    if (name !== undefined && names.has(name)) table.report("name", "is the name of another trigger already.");
    if (name !== undefined) names.add(name);
    const known = type === undefined ? undefined : kinds.get(type);
    if (known === undefined || type === undefined) return [];
    const settings = readSettings(table, known);
    return hasValidSettings(known, settings, { table, channels: open }) && name !== undefined ? [{ ...settings, type, name }] : [];
  });
}

function readName(table: TableReader): string | undefined {
  const name = table.requiredText("name", "the name that identifies the trigger after a restart");
  if (name === undefined) return undefined;
  try {
    return checkVisibleName(name, "The name of a trigger");
  } catch (thrown: unknown) {
    reportSettingsError(table, "name", thrown);
    return undefined;
  }
}

/** Adds the channels and triggers of a configuration to those of a program. @throws ToolError `duplicate`, `conflict` */
export function addConfiguredTriggers(
  all: Triggers,
  { channels, triggers }: { readonly channels: readonly ChannelConfig[]; readonly triggers: readonly NamedTrigger[] },
): void {
  for (const { name, ...options } of channels) all.channels.open(name, options);
  for (const definition of triggers) all.declare(definition);
}

function readSettings(table: TableReader, { kind }: KnownTrigger): Readonly<Record<string, unknown>> {
  const { properties } = kind.settingsSchema;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  const settings = names.map((name) => [name, table.value(name)] as const).filter(([, value]) => value !== undefined);
  table.reportUnknownKeys();
  return Object.fromEntries(settings);
}

function hasValidSettings(
  known: KnownTrigger,
  settings: Readonly<Record<string, unknown>>,
  { table, channels }: { readonly table: TableReader; readonly channels: Channels },
): boolean {
  try {
    const copy = copyJson(settings).value;
    known.settingsOf(isJsonObject(copy) ? copy : {}, { sessionId: "", channels, ports: systemPorts });
    return true;
  } catch (thrown: unknown) {
    reportSettingsError(table, thrown instanceof SettingsError ? thrown.key : undefined, thrown);
    return false;
  }
}

function reportSettingsError(table: TableReader, key: string | undefined, thrown: unknown): void {
  table.report(key !== undefined && table.has(key) ? key : undefined, formatForOperator(thrown));
}
