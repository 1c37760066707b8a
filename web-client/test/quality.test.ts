import { expect, test } from "vitest";
import { Quality, TIERS, type Tier } from "../src/state/quality.js";

const clock = { ms: 0 };

/**
 * Draws for some seconds at a tier's own rate.
 * @param costOf  of a picture, ms; absent: it is what the rate comes from
 * @return the tiers that were left, in order
 */
function draw(
  quality: Quality,
  seconds: number,
  rateOf: (tier: Tier) => number,
  costOf = (tier: Tier): number => (rateOf(tier) < 55 ? 1000 / rateOf(tier) : 1),
): Tier[] {
  const left: Tier[] = [];
  for (const end = clock.ms + seconds * 1000; clock.ms < end; clock.ms += 1000 / rateOf(quality.tier)) {
    const before = quality.tier;
    quality.tick(clock.ms);
    if (quality.wantsMeasure) quality.measure(costOf);
    if (quality.tier !== before) left.push(before);
  }
  return left;
}

const at = (tier: Tier): number => TIERS.indexOf(tier);

test("the measurement chooses the finest tier that is quick enough", () => {
  const choose = (costs: Partial<Record<Tier, number>>): Tier => {
    const quality = new Quality();
    expect(quality.wantsMeasure).toBe(true);
    quality.measure((tier) => costs[tier] ?? 1);
    expect(quality.wantsMeasure).toBe(false);
    return quality.tier;
  };
  expect(choose({})).toBe("water");
  expect(choose({ water: 30 })).toBe("water-low");
  expect(choose({ water: 30, "water-low": 20 })).toBe("spheres");
});

test("a tier whose pictures are late is left, a single slow second is not", () => {
  const quality = new Quality();
  quality.measure(() => 1);
  expect(draw(quality, 1.5, () => 20)).toEqual([]);
  expect(draw(quality, 10, () => 60)).toEqual([]);
  expect(draw(quality, 6, (tier) => (at(tier) > at("spheres") ? 20 : 60))).toEqual(["water"]);
  expect(quality.tier).toBe("spheres");
});

test("a display that is slow keeps water that costs little, and it is measured ever more seldom", () => {
  const quality = new Quality();
  quality.measure(() => 3);
  let measured = 0;
  const cost = (): number => {
    measured++;
    return 3;
  };
  expect(draw(quality, 600, () => 30, cost)).toEqual([]);
  expect(quality.tier).toBe("water");
  expect(measured).toBeGreaterThan(2);
  expect(measured).toBeLessThan(12);
  expect(draw(quality, 400, () => 15)).toEqual(["water"]);
});

test("a finer tier is tried when there is room, and less and less often where it is too much", () => {
  const quality = new Quality();
  quality.measure(() => 20);
  expect(quality.tier).toBe("spheres");
  const rate = (tier: Tier): number => (at(tier) > at("spheres") ? 20 : 60);
  const soon = draw(quality, 60, rate).length;
  const later = draw(quality, 600, rate).length;
  expect(soon).toBeGreaterThan(1);
  expect(later / 10).toBeLessThan(soon / 2);
  draw(quality, 2000, () => 60);
  expect(quality.tier).toBe("water");
});

test("a rate between slow and quick changes nothing", () => {
  const quality = new Quality();
  quality.measure((tier) => (tier === "water" ? 20 : 1));
  expect(draw(quality, 300, () => 48)).toEqual([]);
  expect(quality.tier).toBe("water-low");
});

test("a pinned tier stays, until it is chosen again", () => {
  const quality = new Quality({ pinned: "water" });
  expect(quality.wantsMeasure).toBe(false);
  expect(draw(quality, 60, () => 5)).toEqual([]);
  quality.pin("points");
  expect(draw(quality, 60, () => 60)).toEqual([]);
  quality.pin(null);
  expect(quality.wantsMeasure).toBe(true);
  expect(quality.scale).toBe(1);
  draw(quality, 60, () => 60);
  expect(quality.tier).toBe("water");
});

test("spheres get coarser before they become points", () => {
  const quality = new Quality({ finest: "spheres" });
  draw(quality, 3, () => 8);
  expect(quality.tier).toBe("spheres");
  expect(quality.scale).toBeLessThan(1);
  draw(quality, 30, () => 8);
  expect(quality.tier).toBe("points");
});

test("a machine that may only draw spheres draws them, and isn't measured", () => {
  const quality = new Quality({ cheapest: "spheres", finest: "spheres" });
  expect(quality.wantsMeasure).toBe(false);
  draw(quality, 60, () => 3);
  expect(quality.tier).toBe("spheres");
  draw(quality, 60, () => 60);
  expect(quality.tier).toBe("spheres");
});

test("a page that was hidden for long measured nothing", () => {
  const quality = new Quality();
  quality.measure(() => 1);
  for (let i = 0; i < 20; i++) {
    clock.ms += 10_000;
    quality.tick(clock.ms);
  }
  expect(quality.tier).toBe("water");
});

test("where even cheaper water takes long the processor draws, whatever the browser calls it: spheres, and never points", () => {
  const quality = new Quality();
  quality.measure((tier) => (tier === "water" ? 662 : 549));
  expect(quality.tier).toBe("spheres");
  for (let t = 0; t < 200_000; t += 400) quality.tick(t); // 2.5 pictures a second
  expect(quality.tier).toBe("spheres");
  // A card that is a little too slow for it may get there yet, and may have to take points.
  const card = new Quality();
  card.measure(() => 30);
  expect(card.tier).toBe("spheres");
  for (let t = 0; t < 200_000; t += 400) card.tick(t);
  expect(card.tier).toBe("points");
});
