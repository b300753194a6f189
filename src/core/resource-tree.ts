/**
 * The holders of each place in the tree of resources, and those that wait for it.
 *
 * A claim on `file:/a/b` leaves one hold on the place itself and one on each place above it (`file:/a`,
 * `file:`), saying what it does there or further inside. Two claims conflict exactly when their holds
 * exclude each other at some place, so every question is answered at the places a claim goes through.
 */

/** The kinds of access of a hold at its place or inside it; a hold may have several. */
const READ = 1;
const WRITE = 2;
const ADD = 4;
const READ_INSIDE = 8;
const WRITE_INSIDE = 16;
const ADD_INSIDE = 32;
const EVERYTHING = 63;

/** The kinds of access that each excludes from the same place. `ADD` is a commutative write: it goes together with its like. */
const KEEPS_OUT: readonly (readonly [doing: number, others: number])[] = [
  [READ, WRITE | ADD | WRITE_INSIDE | ADD_INSIDE],
  [WRITE, EVERYTHING],
  [ADD, READ | WRITE | READ_INSIDE | WRITE_INSIDE],
  [READ_INSIDE, WRITE | ADD],
  [WRITE_INSIDE, READ | WRITE | ADD],
  [ADD_INSIDE, READ | WRITE],
];

/** The same for every combination of doings. */
const KEPT_OUT_BY = Uint8Array.from({ length: EVERYTHING + 1 }, (_, doing) =>
  KEEPS_OUT.reduce((all, [one, others]) => ((doing & one) === 0 ? all : all | others), 0),
);

/** A longer key counts as its ancestor at this depth: wider than asked, never narrower, and never slow. */
const MAX_DEPTH = 64;

const SPARE_PLACES = 32;

/** The tree's record of a ticket. The two last fields belong to the tree: 0 and undefined before `enter`. */
export interface Claim {
  readonly owner: string;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly commutative: boolean;
  /** Rises with every claim; the lower goes first. */
  readonly sequence: number;
  /** Is called once when a claim that was blocked no longer is. Must not throw. */
  unblocked(): void;
  /** How many of its holds an earlier claim keeps out; it may go at 0. */
  blockedHolds: number;
  firstHold: Hold | undefined;
}

/** One claim at one place, in line with those that do the same there. */
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

/** The holds of one place that do the same, oldest first: some that may go, then those that are blocked. */
class Queue {
  readonly doing: number;
  readonly keptOut: number;
  /** Another queue of the same place. */
  readonly sibling: Queue | undefined;
  first: Hold | undefined = undefined;
  last: Hold | undefined = undefined;
  firstBlocked: Hold | undefined = undefined;

  constructor(doing: number, sibling: Queue | undefined) {
    this.doing = doing;
    this.keptOut = KEPT_OUT_BY[doing] ?? EVERYTHING;
    this.sibling = sibling;
  }
}

class Place {
  /** One per doing; at most 12 combinations occur. */
  firstQueue: Queue | undefined = undefined;
  holds = 0;
  /** The access that the entering claim makes here; 0 between claims. */
  doing = 0;
}

/** The places on the way to a key. */
interface Folder {
  readonly path: string;
  /** Those above its own place. */
  readonly above: readonly Place[];
  readonly place: Place;
  /** It is as deep as keys are distinguished: what is inside counts as the place itself. */
  readonly isDeep: boolean;
}

export class ResourceTree {
  readonly #places = new Map<string, Place>();
  readonly #entered: Place[] = [];
  #claims = 0;
  /** Places kept without holds, because calls come back to the same ones. */
  #empty = 0;
  /** Where the last key was that has a slash: the next is often next to it, as the keys of a toolset are. */
  #folder: Folder | undefined = undefined;
  /** The only claim there is: it needs no places until another comes. */
  #alone: Claim | undefined = undefined;

  /** Claims held or waiting. */
  get claims(): number {
    return this.#claims;
  }

  /** Places kept: those with holds, at most as many again and 64 without, and none when idle. */
  get places(): number {
    return this.#places.size;
  }

  /** Puts the claim behind all earlier ones; afterwards `blockedHolds` says whether it may go. */
  enter(claim: Claim): void {
    this.#claims++;
    if (this.#claims === 1) {
      this.#alone = claim;
      return;
    }
    if (this.#alone !== undefined) {
      const first = this.#alone;
      this.#alone = undefined;
      this.#hold(first);
    }
    this.#hold(claim);
  }

  /** Takes the claim out, held or waiting, and unblocks those that can now go, in their order. Once per claim. */
  leave(claim: Claim): void {
    this.#claims--;
    if (this.#alone === claim) {
      this.#alone = undefined;
      return;
    }
    let free: Claim[] | undefined;
    for (let hold = claim.firstHold; hold !== undefined; hold = hold.sibling) {
      const { place, queue } = hold;
      const wasFirst = queue.first === hold;
      unlink(hold);
      if (--place.holds === 0) this.#empty++;
      else if (wasFirst) free = unblock(place, queue.doing, free);
    }
    claim.firstHold = undefined;
    this.#dropEmpty();
    if (free === undefined) return;
    free.sort(bySequence);
    for (const other of free) other.unblocked();
  }

  /** Earlier claims that keep this one out, oldest first, at most `most`. */
  blockersOf(claim: Claim, most: number): readonly Claim[] {
    const blockers = new Set<Claim>();
    for (let hold = claim.firstHold; hold !== undefined; hold = hold.sibling) {
      for (let queue = hold.place.firstQueue; queue !== undefined; queue = queue.sibling) {
        if ((hold.queue.keptOut & queue.doing) === 0) continue;
        let left = most;
        for (let other = queue.first; other !== undefined && other.claim.sequence < claim.sequence && left > 0; other = other.next) {
          blockers.add(other.claim);
          left--;
        }
      }
    }
    return [...blockers].sort(bySequence).slice(0, most);
  }

  #hold(claim: Claim): void {
    for (const key of claim.reads) this.#walk(key, READ, READ_INSIDE);
    for (const key of claim.writes) {
      if (claim.commutative) this.#walk(key, ADD, ADD_INSIDE);
      else this.#walk(key, WRITE, WRITE_INSIDE);
    }
    for (const place of this.#entered) {
      if (place.holds === 0) this.#empty--;
      append(claim, place);
      place.doing = 0;
    }
    this.#entered.length = 0;
  }

  /** Notes what is done at the key's place and at each place above it. One slash at the end says nothing, as in `isInside`. */
  #walk(key: string, doing: number, doingInside: number): void {
    const path = key.endsWith("/") ? key.slice(0, -1) : key;
    const end = path.lastIndexOf("/");
    if (end >= 0) {
      const known = this.#folder;
      const folder = known?.path.length === end && path.startsWith(known.path) ? known : this.#openFolder(path.slice(0, end));
      for (const place of folder.above) this.#enterPlace(place, doingInside);
      this.#enterPlace(folder.place, folder.isDeep ? doing : doingInside);
      if (folder.isDeep) return;
    }
    this.#enterPlace(this.#placeAt(path), doing);
  }

  /** Finds the places on the way to a key, as far as keys are distinguished. */
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

  #enterPlace(place: Place, doing: number): void {
    if (place.doing === 0) this.#entered.push(place);
    place.doing |= doing;
  }

  /** Sweeps when most places are empty, so that a sweep costs no more than the releases since the last. */
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

/** Adds the claim's hold for `place.doing`, blocked if anyone there keeps it out: all of them came earlier. */
function append(claim: Claim, place: Place): void {
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
  for (let queue = place.firstQueue; queue !== undefined; queue = queue.sibling) if (queue.doing === place.doing) return queue;
  const queue = new Queue(place.doing, place.firstQueue);
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

/** Frees the holds that only a hold doing `gone` kept out. Returns `free` with the claims that may go by that; undefined while there are none. */
function unblock(place: Place, gone: number, free: Claim[] | undefined): Claim[] | undefined {
  let freed = free;
  for (let queue = place.firstQueue; queue !== undefined; queue = queue.sibling) {
    if (queue.firstBlocked === undefined || (queue.keptOut & gone) === 0) continue;
    const oldest = oldestExcluded(place, queue);
    for (let hold: Hold | undefined = queue.firstBlocked; hold !== undefined && hold.claim.sequence <= oldest; hold = hold.next) {
      queue.firstBlocked = hold.next;
      if (--hold.claim.blockedHolds === 0) (freed ??= []).push(hold.claim);
    }
  }
  return freed;
}

/** Sequence of the oldest claim here that holds of `queue` do not go with, which may be the first of `queue` itself; else `Infinity`. */
function oldestExcluded(place: Place, queue: Queue): number {
  let oldest = Infinity;
  for (let other = place.firstQueue; other !== undefined; other = other.sibling) {
    const first = other.first;
    if (first !== undefined && (queue.keptOut & other.doing) !== 0 && first.claim.sequence < oldest) oldest = first.claim.sequence;
  }
  return oldest;
}

function bySequence(left: Claim, right: Claim): number {
  return left.sequence - right.sequence;
}
