/** Where one line stands in three texts. */
type Anchor = { readonly o: number; readonly a: number; readonly b: number };

type Lines = readonly string[];

/** A stretch of three texts, each as its lines. */
export type ThreeLines = { readonly o: Lines; readonly a: Lines; readonly b: Lines };

/**
 * Cuts three texts at lines that stand once in each of them and in the same order (as a patience diff
 * does): what lies between is small, and can be compared at a cost that grows with its cube. Gives
 * the stretches and, between two of them, the line.
 */
export function cutAtAnchors({ o, a, b }: ThreeLines): {
  readonly stretches: readonly ThreeLines[];
  readonly lines: readonly string[];
} {
  const stretches: ThreeLines[] = [];
  const lines: string[] = [];
  let from: Anchor = { o: 0, a: 0, b: 0 };
  const cut = (to: Anchor): void => {
    stretches.push({
      o: o.slice(from.o, to.o),
      a: a.slice(from.a, to.a),
      b: b.slice(from.b, to.b),
    });
  };
  for (const anchor of findAnchors({ o, a, b })) {
    cut(anchor);
    lines.push(o[anchor.o] ?? '');
    from = { o: anchor.o + 1, a: anchor.a + 1, b: anchor.b + 1 };
  }
  cut({ o: o.length, a: a.length, b: b.length });
  return { stretches, lines };
}

function findAnchors({ o, a, b }: ThreeLines): Anchor[] {
  const inA = uniqueLines(a);
  const inB = uniqueLines(b);
  const common: Anchor[] = [];
  for (const [line, at] of uniqueLines(o)) {
    const [first, second] = [inA.get(line) ?? REPEATED, inB.get(line) ?? REPEATED];
    if (at !== REPEATED && first !== REPEATED && second !== REPEATED) {
      common.push({ o: at, a: first, b: second });
    }
  }
  common.sort((x, y) => x.o - y.o);
  const rising = longestRising(common, (anchor) => anchor.a);
  return longestRising(rising, (anchor) => anchor.b);
}

const REPEATED = -1;

function uniqueLines(lines: Lines): Map<string, number> {
  const places = new Map<string, number>();
  lines.forEach((line, i) => {
    places.set(line, places.has(line) ? REPEATED : i);
  });
  return places;
}

/** Finds the longest part of a list whose keys only rise, by piles (patience sorting). */
function longestRising(anchors: readonly Anchor[], keyOf: (anchor: Anchor) => number): Anchor[] {
  type Card = { readonly anchor: Anchor; readonly below: Card | undefined };
  const piles: Card[] = [];
  for (const anchor of anchors) {
    const key = keyOf(anchor);
    let low = 0;
    let high = piles.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const card = piles[middle];
      if (card !== undefined && keyOf(card.anchor) < key) low = middle + 1;
      else high = middle;
    }
    piles[low] = { anchor, below: piles[low - 1] };
  }
  const rising: Anchor[] = [];
  for (let card = piles.at(-1); card !== undefined; card = card.below) rising.push(card.anchor);
  return rising.reverse();
}
