/** The networks of a fleet: a namespace for each node where the system has them and this user may make them, else loopback alone. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";

/** Of this process alone: several drills may run at a time. */
const NAME = `hf${process.pid}`;
const BRIDGE = `${NAME}b`;
const SUBNET = `10.213.${process.pid % 250}`;

export interface NodeNetwork {
  /** The address that the node listens at. */
  readonly host: string;
  start(program: string, args: readonly string[]): ChildProcess;
  /** Cuts it off from all others. */
  cut(): void;
  heal(): void;
}

export interface FleetNetwork {
  readonly kind: "network namespaces" | "loopback, with connections through a proxy";
  /** The address at which all nodes reach this process. */
  readonly host: string;
  readonly nodes: readonly NodeNetwork[];
  remove(): void;
}

export function makeNetwork(count: number): FleetNetwork {
  try {
    return withNamespaces(count);
  } catch {
    return loopback(count);
  }
}

function ip(...args: readonly string[]): void {
  execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });
}

function quietly(...args: readonly string[]): void {
  try {
    ip(...args);
  } catch {
    // it was not there
  }
}

function withNamespaces(count: number): FleetNetwork {
  const names = Array.from({ length: count }, (_, index) => ({
    space: `${NAME}n${index}`,
    outer: `${NAME}v${index}`,
    inner: `${NAME}w${index}`,
  }));
  const remove = (): void => {
    for (const { space, outer } of names) {
      quietly("link", "del", outer);
      quietly("netns", "del", space);
    }
    quietly("link", "del", BRIDGE);
  };
  try {
    ip("link", "add", BRIDGE, "type", "bridge");
    ip("addr", "add", `${SUBNET}.1/24`, "dev", BRIDGE);
    ip("link", "set", BRIDGE, "up");
    for (const [index, { space, outer, inner }] of names.entries()) {
      ip("netns", "add", space);
      ip("link", "add", outer, "type", "veth", "peer", "name", inner);
      ip("link", "set", outer, "master", BRIDGE, "up");
      ip("link", "set", inner, "netns", space);
      ip("-n", space, "addr", "add", `${SUBNET}.${index + 2}/24`, "dev", inner);
      ip("-n", space, "link", "set", inner, "up");
      ip("-n", space, "link", "set", "lo", "up");
    }
  } catch (thrown: unknown) {
    remove();
    throw thrown;
  }
  const nodes = names.map(({ space, outer }, index) => ({
    host: `${SUBNET}.${index + 2}`,
    start: (program: string, args: readonly string[]) =>
      spawn("ip", ["netns", "exec", space, process.execPath, program, ...args], { stdio: ["ignore", "pipe", "inherit"] }),
    cut: () => ip("link", "set", outer, "down"),
    heal: () => ip("link", "set", outer, "up"),
  }));
  return { kind: "network namespaces", host: `${SUBNET}.1`, nodes, remove };
}

function loopback(count: number): FleetNetwork {
  const start = (program: string, args: readonly string[]): ChildProcess =>
    spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const nodes = Array.from({ length: count }, () => ({ host: "127.0.0.1", start, cut: () => {}, heal: () => {} }));
  return { kind: "loopback, with connections through a proxy", host: "127.0.0.1", nodes, remove: () => {} };
}
