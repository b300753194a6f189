/**
 * The holders of each place in the tree of resources, and the claims that wait for it.
 *
 * A claim on `file:/a/b` puts one hold on that place and one on each place above it (`file:/a`, `file:`), which says what the claim does there or
 * further inside. Two claims conflict exactly when their holds exclude each other at some place, so only the places on a claim's path matter.
 */

/** The kinds of access of a hold, at its place or inside it; a hold may have several. */
const READ = 1;
const WRITE = 2;
const ADD = 4;
const READ_INSIDE = 8;
const WRITE_INSIDE = 16;
const ADD_INSIDE = 32;
const ALL_ACCESS = 63;

/** The kinds of access that each kind excludes from the same place. `ADD` is a commutative write: several of them may run together. */
const EXCLUDED_BY_KIND: readonly (readonly [doing: number, others: number])[] = [
  [READ, WRITE | ADD | WRITE_INSIDE | ADD_INSIDE],
  [WRITE, ALL_ACCESS],
  [ADD, READ | WRITE | READ_INSIDE | WRITE_INSIDE],
  [READ_INSIDE, WRITE | ADD],
  [WRITE_INSIDE, READ | WRITE | ADD],
  [ADD_INSIDE, READ | WRITE],
];

/** The same for every combination of kinds of access. */
const EXCLUDED_ACCESS = Uint8Array.from({ length: ALL_ACCESS + 1 }, (_, doing) =>
  EXCLUDED_BY_KIND.reduce((all, [one, others]) => ((doing & one) === 0 ? all : all | others), 0),
);

/** A longer key is treated as its ancestor at this depth: that locks more than was asked for, never less, and stays fast. */
const MAX_DEPTH = 64;

const SPARE_PLACES = 32;

/** A ticket as the tree sees it. The last two fields belong to the tree: 0 and undefined before `add`. */
export interface Claim {
  readonly owner: string;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly commutative: boolean;
  /** Increases with every claim; the lower one goes first. */
  readonly sequence: number;
  /** Called once when a blocked claim is no longer blocked. Must not throw. */
  onUnblocked(): void;
  /** Number of its holds that an earlier claim blocks; the claim may go at 0. */
  blockedHolds: number;
  firstHold: Hold | undefined;
}

/** The hold of one claim at one place, queued with the holds of the same access there. */
class Hold {
  readonly claim: Claim;
  readonly place: Place;
  readonly queue: Queue;
  /** The next hold of the same claim. */
  readonly sibling: Hold | undefined;
  previous: Hold | undefined;
  next: Hold | undefined;

  constructor(claim: Claim, place: Place, queue: Queue) {
    this.claim = claim;
    this.place = place;
    this.queue = queue;
    this.sibling = claim.firstHold;
    this.previous = queue.last;
    this.next = undefined;
  }
}

/** The holds of one place with the same access, oldest first: those that may go, followed by those that are blocked. */
class Queue {
  readonly access: number;
  readonly excludedAccess: number;
  /** The next queue of the same place. */
  readonly sibling: Queue | undefined;
  first: Hold | undefined = undefined;
  last: Hold | undefined = undefined;
  firstBlocked: Hold | undefined = undefined;

  constructor(access: number, sibling: Queue | undefined) {
    this.access = access;
    this.excludedAccess = EXCLUDED_ACCESS[access] ?? ALL_ACCESS;
    this.sibling = sibling;
  }
}

class Place {
  /** One queue for each combination of access; at most 12 combinations occur. */
  firstQueue: Queue | undefined = undefined;
  holds = 0;
  /** The access that the claim now entering makes here; 0 between claims. */
  access = 0;
}

/** The places on the path to a key. */
interface Folder {
  readonly path: string;
  /** The places above `place`. */
  readonly above: readonly Place[];
  readonly place: Place;
  /** Whether the folder is at `MAX_DEPTH`: everything inside counts as the folder itself. */
  readonly isDeep: boolean;
}

export class ResourceTree {
  readonly #places = new Map<string, Place>();
  readonly #touchedPlaces: Place[] = [];
  #claims = 0;
  /** Number of places kept without holds, because later calls often use the same ones. */
  #empty = 0;
  /** The folder of the last key with a slash: the next key is often in the same one, as the keys of a toolset are. */
  #folder: Folder | undefined = undefined;
  /** The only claim, if there is just one: it needs no places until another enters. */
  #onlyClaim: Claim | undefined = undefined;

  /** Number of claims, held or waiting. */
  get claims(): number {
    return this.#claims;
  }

  /** Number of places kept: those with holds, at most as many again and 64 without holds, and none when idle. */
  get places(): number {
    return this.#places.size;
  }

  /** Queues the claim behind all earlier ones; afterwards `blockedHolds` says whether it may go. */
  add(claim: Claim): void {
    this.#claims++;
    if (this.#claims === 1) {
      this.#onlyClaim = claim;
      return;
    }
    if (this.#onlyClaim !== undefined) {
      const first = this.#onlyClaim;
      this.#onlyClaim = undefined;
      this.#addHolds(first);
    }
    this.#addHolds(claim);
  }

  /** Removes the claim, held or waiting, and unblocks the claims that can now go, in order. Call once per claim. */
  remove(claim: Claim): void {
    this.#claims--;
    if (this.#onlyClaim === claim) {
      this.#onlyClaim = undefined;
      return;
    }
    let free: Claim[] | undefined;
    for (let hold = claim.firstHold; hold !== undefined; hold = hold.sibling) {
      const { place, queue } = hold;
      const wasFirst = queue.first === hold;
      unlink(hold);
      if (--place.holds === 0) this.#empty++;
      else if (wasFirst) free = unblock(place, queue.access, free);
    }
    claim.firstHold = undefined;
    this.#dropEmpty();
    if (free === undefined) return;
    free.sort(bySequence);
    for (const other of free) other.onUnblocked();
  }

  /** Returns the earlier claims that block this one, oldest first, at most `most`. */
  blockersOf(claim: Claim, most: number): readonly Claim[] {
    const blockers = new Set<Claim>();
    for (let hold = claim.firstHold; hold !== undefined; hold = hold.sibling) {
      for (let queue = hold.place.firstQueue; queue !== undefined; queue = queue.sibling) {
        if ((hold.queue.excludedAccess & queue.access) === 0) continue;
        let left = most;
        for (let other = queue.first; other !== undefined && other.claim.sequence < claim.sequence && left > 0; other = other.next) {
          blockers.add(other.claim);
          left--;
        }
      }
    }
    return [...blockers].sort(bySequence).slice(0, most);
  }

  #addHolds(claim: Claim): void {
    for (const key of claim.reads) this.#markAccess(key, READ, READ_INSIDE);
    for (const key of claim.writes) {
      if (claim.commutative) this.#markAccess(key, ADD, ADD_INSIDE);
      else this.#markAccess(key, WRITE, WRITE_INSIDE);
    }
    for (const place of this.#touchedPlaces) {
      if (place.holds === 0) this.#empty--;
      addHold(claim, place);
      place.access = 0;
    }
    this.#touchedPlaces.length = 0;
  }

  /** Marks the access at the key's place and at each place above it. One trailing slash is ignored, as in `isSameOrInside`. */
  #markAccess(key: string, doing: number, doingInside: number): void {
    const path = key.endsWith("/") ? key.slice(0, -1) : key;
    const end = path.lastIndexOf("/");
    if (end >= 0) {
      const known = this.#folder;
      const folder = known?.path.length === end && path.startsWith(known.path) ? known : this.#openFolder(path.slice(0, end));
      for (const place of folder.above) this.#touchPlace(place, doingInside);
      this.#touchPlace(folder.place, folder.isDeep ? doing : doingInside);
      if (folder.isDeep) return;
    }
    this.#touchPlace(this.#placeAt(path), doing);
  }

  /** Finds the places on the path to a key, down to `MAX_DEPTH`. */
  #openFolder(path: string): Folder {
    const above: Place[] = [];
    let slash = path.indexOf("/");
    for (; slash >= 0 && above.length < MAX_DEPTH - 1; slash = path.indexOf("/", slash + 1))
      above.push(this.#placeAt(path.slice(0, slash)));
    const isDeep = above.length === MAX_DEPTH - 1;
    const place = this.#placeAt(slash < 0 ? path : path.slice(0, slash));
    this.#folder = { path, above, place, isDeep };
    return this.#folder;
  }

  #placeAt(path: string): Place {
    let place = this.#places.get(path);
    if (place === undefined) {
      place = new Place();
      this.#places.set(path, place);
      this.#empty++;
    }
    return place;
  }

  #touchPlace(place: Place, doing: number): void {
    if (place.access === 0) this.#touchedPlaces.push(place);
    place.access |= doing;
  }

  /** Drops empty places once most are empty, so that a sweep costs no more than the releases since the last one. */
  #dropEmpty(): void {
    if (this.#claims === 0) {
      this.#places.clear();
      this.#empty = 0;
      this.#folder = undefined;
    } else if (this.#empty > SPARE_PLACES + this.#places.size / 2) {
      for (const [path, place] of this.#places) if (place.holds === 0) this.#places.delete(path);
      this.#empty = 0;
      this.#folder = undefined;
    }
  }
}

/** Adds the claim's hold for `place.access`, blocked if any other hold there excludes it: all of those came earlier. */
function addHold(claim: Claim, place: Place): void {
  const queue = queueFor(place);
  const blocked = oldestExcluded(place, queue) < Infinity;
  const hold = new Hold(claim, place, queue);
  if (queue.last === undefined) queue.first = hold;
  else queue.last.next = hold;
  queue.last = hold;
  place.holds++;
  claim.firstHold = hold;
  if (!blocked) return;
  claim.blockedHolds++;
  queue.firstBlocked ??= hold;
}

function queueFor(place: Place): Queue {
  for (let queue = place.firstQueue; queue !== undefined; queue = queue.sibling) if (queue.access === place.access) return queue;
  const queue = new Queue(place.access, place.firstQueue);
  place.firstQueue = queue;
  return queue;
}

function unlink(hold: Hold): void {
  const { queue, previous, next } = hold;
  if (previous === undefined) queue.first = next;
  else previous.next = next;
  if (next === undefined) queue.last = previous;
  else next.previous = previous;
  // A hold that follows a blocked one in its queue is blocked by the same claim, or by one in between.
  if (queue.firstBlocked === hold) queue.firstBlocked = next;
}

/** Unblocks the holds that only a hold with `releasedAccess` had blocked. Returns `free` with the claims that may go now; undefined if none. */
function unblock(place: Place, releasedAccess: number, free: Claim[] | undefined): Claim[] | undefined {
  let freed = free;
  for (let queue = place.firstQueue; queue !== undefined; queue = queue.sibling) {
    if (queue.firstBlocked === undefined || (queue.excludedAccess & releasedAccess) === 0) continue;
    const oldest = oldestExcluded(place, queue);
    for (let hold: Hold | undefined = queue.firstBlocked; hold !== undefined && hold.claim.sequence <= oldest; hold = hold.next) {
      queue.firstBlocked = hold.next;
      if (--hold.claim.blockedHolds === 0) (freed ??= []).push(hold.claim);
    }
  }
  return freed;
}

/** Returns the sequence of the oldest claim here that excludes the holds of `queue`, possibly the first of `queue` itself; else `Infinity`. */
function oldestExcluded(place: Place, queue: Queue): number {
  let oldest = Infinity;
  for (let other = place.firstQueue; other !== undefined; other = other.sibling) {
    const first = other.first;
    if (first !== undefined && (queue.excludedAccess & other.access) !== 0 && first.claim.sequence < oldest) oldest = first.claim.sequence;
  }
  return oldest;
}

function bySequence(left: Claim, right: Claim): number {
  return left.sequence - right.sequence;
}
