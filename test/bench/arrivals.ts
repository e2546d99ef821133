import { seededRandom } from '../../src/runtime/random.js';

export interface Arrival {
  /** Milliseconds since the start. */
  readonly atMillis: number;
  /** Index of the source that changes. */
  readonly source: number;
}

/**
 * Returns an endless Poisson process: exponential gaps with the mean of that rate, each for a source chosen evenly.
 * The same seed returns the same arrivals.
 */
export function* arrivals(seed: number, perSecond: number, sources: number): Generator<Arrival, never> {
  const random = seededRandom(seed);
  for (let atMillis = 0; ; ) {
    // 1 - fraction lies in (0, 1], where the logarithm is finite.
    atMillis += (-Math.log(1 - random.fraction()) / perSecond) * 1000;
    yield { atMillis, source: Math.floor(random.fraction() * sources) };
  }
}

/**
 * The arrivals before the end of that many seconds, or without end; at least one, because none would measure nothing.
 */
export function* arrivalsWithin(
  seconds: number | null,
  seed: number,
  perSecond: number,
  sources: number,
): Generator<Arrival> {
  let count = 0;
  for (const arrival of arrivals(seed, perSecond, sources)) {
    if (count > 0 && seconds !== null && arrival.atMillis >= seconds * 1000) return;
    count += 1;
    yield arrival;
  }
}
