// A permalink holds all that is shown, behind the # of the address: no server gets to see it.

export interface Link {
  /** A story of the gallery. */
  story?: string;
  /** Or the text of a scenario. */
  text?: string;
  seed?: number;
  /** The moment, ns. */
  t?: number;
  /** Which of its disciplines are shown. */
  shown?: number[];
}

const BROKEN = "it was cut off, or changed on its way";
/** Longest scenario in a link, bytes: what a scenario file may have is more, but no link. */
const MOST = 1 << 20;

async function through(bytes: Uint8Array<ArrayBuffer>, by: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new Blob([bytes]).stream().pipeThrough(by).getReader();
  const parts: Uint8Array[] = [];
  let all = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    all += value.length;
    if (all > MOST) throw new Error("its scenario is too long");
  }
  const out = new Uint8Array(all);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

const toText = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join("")).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

const fromText = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));

/** The part of an address behind its path. */
export async function packed(link: Link): Promise<string> {
  const parts = new URLSearchParams();
  if (link.story !== undefined) parts.set("story", link.story);
  if (link.text !== undefined) {
    parts.set("scenario", toText(await through(new TextEncoder().encode(link.text), new CompressionStream("deflate-raw"))));
  }
  if (link.seed !== undefined) parts.set("seed", String(link.seed));
  if (link.t !== undefined) parts.set("t", String(link.t));
  if (link.shown !== undefined) parts.set("shown", link.shown.join("-"));
  return `#${parts.toString()}`;
}

function whole(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (!/^\d{1,16}$/.test(text)) throw new Error(BROKEN);
  return Number(text);
}

/** What it says; none: it says nothing. Throws what is wrong. */
export async function unpacked(hash: string): Promise<Link | undefined> {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  if ([...parts.keys()].length === 0) return undefined;
  const link: Link = {};
  const [story, scenario, plain] = [parts.get("story"), parts.get("scenario"), parts.get("text")];
  const seed = whole(parts.get("seed"));
  const t = whole(parts.get("t"));
  if (seed !== undefined) link.seed = seed;
  if (t !== undefined) link.t = t;
  const shown = parts.get("shown");
  if (shown !== null) link.shown = shown.split("-").map((d) => whole(d) ?? 0);
  if (story !== null) link.story = story;
  const packed = scenario ?? plain;
  if (packed !== null) {
    try {
      const bytes = fromText(packed);
      // The program writes it plainly.
      const text = scenario === null ? bytes : await through(bytes, new DecompressionStream("deflate-raw"));
      link.text = new TextDecoder("utf-8", { fatal: true }).decode(text);
    } catch (e) {
      throw new Error(e instanceof Error && e.message.startsWith("its scenario") ? e.message : BROKEN);
    }
  }
  if (link.text === undefined && link.story === undefined) throw new Error(BROKEN);
  return link;
}
