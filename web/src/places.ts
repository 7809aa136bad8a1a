// Which flows have a sender of their own in the picture, and their colours.
import type { Told } from "./simulator.ts";
import { flowColour, type Theme } from "./theme.ts";

/** So many flows have places of their own; of more than these so many have, each in another colour, and the others share the last place. */
const ALL = 10;
const OWN = 8;

export interface Places {
  /** Of each flow its place, from above; -1: it does not come here. */
  of: number[];
  count: number;
  /** Of places the words beside them. */
  names: [place: number, name: string][];
  /** The place that many share. */
  shared: number | undefined;
}

/** Each group in turn has a place for one more of its flows, so that no group is only among the others. */
export function places(flows: readonly { group: number; here: boolean }[], groups: readonly { name: string }[]): Places {
  const of = flows.map(() => -1);
  const members = groups.map((_, g) => flows.flatMap((flow, f) => (flow.group === g && flow.here ? [f] : [])));
  const all = members.reduce((sum, m) => sum + m.length, 0);
  const own = members.map(() => 0);
  for (let left = all > ALL ? OWN : all, round = 0; left > 0; round++) {
    members.forEach((m, g) => {
      if (m.length <= round || left === 0) return;
      own[g] = round + 1;
      left--;
    });
  }
  const names: [number, string][] = [];
  let count = 0;
  members.forEach((m, g) => {
    const n = own[g] ?? 0;
    if (n > 0) names.push([count, groups[g]?.name ?? ""]);
    for (const f of m.slice(0, n)) of[f] = count++;
  });
  if (all <= count) return { of, count: Math.max(count, 1), names, shared: undefined };
  members.forEach((m, g) => {
    for (const f of m.slice(own[g] ?? 0)) of[f] = count;
  });
  const crowded = groups.filter((_, g) => (members[g]?.length ?? 0) > (own[g] ?? 0));
  names.push([count, crowded.length === 1 ? `${crowded[0]?.name ?? ""}: ${all - count} more` : `${all - count} more flows`]);
  return { of, count: count + 1, names, shared: count };
}

const known = new WeakMap<Told, Places>();

export function placesOf(told: Told): Places {
  const all = known.get(told) ?? places(told.flows, told.groups);
  known.set(told, all);
  return all;
}

/** A flow's colour; those that share a place have none of their own. */
export function colourOf(told: Told | undefined, flow: number, of: Theme): string {
  const all = told && placesOf(told);
  const place = all?.of[flow] ?? -1;
  if (place < 0) return flowColour(flow, of);
  return place === all?.shared ? of.grey : flowColour(place, of);
}
