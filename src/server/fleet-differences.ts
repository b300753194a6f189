/** Compares the processes of one store, which should have the same version and tools. */
import type { StoredProcess } from "../core/store/process-store.ts";

/** The name of a process as shown to people. */
export function processName({ name, host, pid }: StoredProcess): string {
  return name ?? `process ${pid} on host ${host}`;
}

/** A toolset that the command line adds to processes that run agents only. */
const AGENT_ONLY_TOOLSET = "toolsets.jobs";

/** One line for each way in which living processes differ; empty if they are equal. Processes that announced no definitions are ignored. */
export function describeFleetDifferences(processes: readonly StoredProcess[]): readonly string[] {
  const living = processes.filter(({ alive }) => alive);
  const versions = living.flatMap((one) => (one.version === undefined ? [] : [[one.version, processName(one)] as const]));
  const lines: string[] = [];
  if (new Set(versions.map(([version]) => version)).size > 1)
    lines.push(
      `They run different versions: ${groups(versions.map(([version, name]) => [version, `${name} ${version}`] as const)).join("; ")}.`,
    );
  const announced = living.filter(({ definitions }) => definitions !== undefined);
  const parts = new Set(announced.flatMap(({ definitions = {} }) => Object.keys(definitions)));
  for (const part of [...parts].toSorted()) {
    const having = announced.filter(({ definitions = {} }) => Object.hasOwn(definitions, part));
    const lacking = announced.filter((one) => !having.includes(one));
    const digests = having.map((one) => [one.definitions?.[part] ?? "", processName(one)] as const);
    if (new Set(digests.map(([digest]) => digest)).size > 1) lines.push(`${part} differs: ${groups(digests).join(" from ")}.`);
    if (lacking.length > 0 && part !== AGENT_ONLY_TOOLSET) lines.push(`${part} is missing in ${lacking.map(processName).join(", ")}.`);
  }
  return lines;
}

/** The names for each distinct value, joined. */
function groups(named: readonly (readonly [value: string, name: string])[]): readonly string[] {
  return [...Map.groupBy(named, ([value]) => value).values()].map((group) => group.map(([, name]) => name).join(", "));
}
