import { type Random, seededRandom } from '../../../src/runtime/random.js';
import { calm, type Weather } from './proxy.js';

/** The machines: three daemons, two analysts, the platform with the sender of webhooks, two database servers. */
export const daemons = ['a', 'b', 'c'] as const;
export const analysts = ['x', 'y'] as const;
export const platform = 'p';
export const databases = ['d1', 'd2'] as const;
export const hosts = [...daemons, ...analysts, platform, ...databases] as const;

export type Daemon = (typeof daemons)[number];
export type Analyst = (typeof analysts)[number];
export type Database = (typeof databases)[number];
export type Host = (typeof hosts)[number];

/** Which packets between two hosts are dropped: all, or only those in one direction. */
export type Ways = 'both' | 'there' | 'back';
export type Step = 'asked' | 'answered' | 'soon after';

export type Fault =
  | {
      readonly kind: 'cut';
      readonly from: Host;
      readonly to: Host;
      readonly ways: Ways;
      readonly millis: number;
    }
  | {
      readonly kind: 'vanish';
      readonly host: Host;
      readonly how: 'unplugged' | 'no route';
      readonly millis: number;
    }
  | { readonly kind: 'weather'; readonly host: Host; readonly weather: Weather; readonly millis: number }
  | { readonly kind: 'freeze'; readonly host: Daemon | Analyst; readonly millis: number }
  | { readonly kind: 'kill'; readonly host: Daemon | Analyst; readonly millis: number }
  | { readonly kind: 'clock'; readonly host: Daemon; readonly offsetMillis: number }
  | { readonly kind: 'platform restarts'; readonly millis: number }
  | { readonly kind: 'deliveries'; readonly action: 'lose' | 'duplicate' | 'hold'; readonly times: number }
  | { readonly kind: 'refresh'; readonly dies: Daemon | null; readonly step: Step }
  | { readonly kind: 'rotation'; readonly dies: Daemon | null; readonly step: Step }
  | { readonly kind: 'database crashes'; readonly millis: number }
  | { readonly kind: 'replica lags'; readonly millis: number }
  | { readonly kind: 'promotion'; readonly primary: 'killed' | 'cut off' };

export type FaultKind = Fault['kind'];

export interface Planned {
  /** The pause before it. The next fault does not wait until this one is over. */
  readonly afterMillis: number;
  readonly fault: Fault;
}

/** How often each kind occurs, relative to the others. */
const shares: Readonly<Record<FaultKind, number>> = {
  cut: 24,
  vanish: 8,
  weather: 24,
  freeze: 10,
  kill: 8,
  clock: 6,
  'platform restarts': 2,
  deliveries: 4,
  refresh: 4,
  rotation: 3,
  'database crashes': 2,
  'replica lags': 2,
  promotion: 2,
};

/** The clocks of two daemons may differ by less than a minute. */
const clockMillisMax = 25_000;

/** Pairs of hosts that talk to each other, the one that connects first. */
export const links: readonly (readonly [Host, Host])[] = [
  ...daemons.flatMap(
    (host) =>
      [
        [host, platform],
        [platform, host],
      ] as const,
  ),
  ...[...daemons, ...analysts].flatMap((host) => databases.map((database) => [host, database] as const)),
  ['d1', 'd2'],
];

/** Returns the faults of one epoch. Pure function: the same seed gives the same plan. */
export function planFaults(seed: number, count: number, pauseMillisMax: number): readonly Planned[] {
  const random = seededRandom(seed);
  const kinds = Object.keys(shares) as FaultKind[];
  const total = kinds.reduce((sum, kind) => sum + shares[kind], 0);
  return Array.from({ length: count }, () => {
    let at = random.fraction() * total;
    const kind =
      kinds.find((one) => {
        at -= shares[one];
        return at < 0;
      }) ?? 'cut';
    return { afterMillis: Math.round(random.fraction() * pauseMillisMax), fault: faultOf(kind, random) };
  });
}

export function faultOf(kind: FaultKind, random: Random): Fault {
  const one = <Value>(among: readonly Value[]): Value =>
    among[Math.floor(random.fraction() * among.length)] as Value;
  const between = (least: number, most: number) => Math.round(least + random.fraction() * (most - least));
  switch (kind) {
    case 'cut': {
      const [from, to] = one(links);
      return { kind, from, to, ways: one(['both', 'there', 'back']), millis: between(300, 12_000) };
    }
    case 'vanish':
      return { kind, host: one(hosts), how: one(['unplugged', 'no route']), millis: between(300, 11_000) };
    case 'weather':
      return {
        kind,
        host: one([...daemons, ...analysts, platform]),
        weather: weatherOf(random),
        millis: between(1_000, 10_000),
      };
    case 'freeze':
      return { kind, host: one([...daemons, ...analysts]), millis: between(300, 14_000) };
    case 'kill':
      return { kind, host: one([...daemons, ...analysts]), millis: between(0, 6_000) };
    case 'clock':
      return { kind, host: one(daemons), offsetMillis: between(-clockMillisMax, clockMillisMax) };
    case 'platform restarts':
      return { kind, millis: between(0, 3_000) };
    case 'deliveries':
      return { kind, action: one(['lose', 'duplicate', 'hold']), times: between(1, 5) };
    case 'refresh':
    case 'rotation':
      return {
        kind,
        dies: random.fraction() < 0.75 ? one(daemons) : null,
        step: one(['asked', 'answered', 'soon after']),
      };
    case 'database crashes':
      return { kind, millis: between(0, 3_000) };
    case 'replica lags':
      return { kind, millis: between(500, 6_000) };
    case 'promotion':
      return { kind, primary: one(['killed', 'cut off']) };
  }
}

function weatherOf(random: Random): Weather {
  const kind = Math.floor(random.fraction() * 6);
  const share = 0.02 + random.fraction() * 0.2;
  if (kind === 0) return { ...calm, delayMillis: 50 + random.fraction() * 950 };
  if (kind === 1) return { ...calm, lossShare: share };
  if (kind === 2) return { ...calm, reorderMillis: 200 + random.fraction() * 2_000 };
  if (kind === 3) return { ...calm, bytesPerSecond: 500 + Math.floor(random.fraction() * 20_000) };
  if (kind === 4) return { ...calm, truncateShare: share };
  return { ...calm, resetShare: share };
}
