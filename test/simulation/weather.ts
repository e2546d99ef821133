import type { Chance } from './chance.js';
import type { Counters } from './counters.js';
import type { Scheduler } from './scheduler.js';

/** What can go wrong between the daemon and the platform, or on the platform. Each is a class of faults. */
export const weatherFaults = [
  'refuse',
  'reset_before',
  'reset_after',
  'cut',
  'stall',
  'drip',
  'slow',
  'html_200',
  'oversized',
  'redirect',
  'bad_encoding',
  'twice',
  'limit_details',
  'limit_header',
  'limit_bare',
  'limit_nonsense',
  'limit_quota',
  'error_500_json',
  'error_502_html',
  'error_503_empty',
  'error_408',
  'unauthorized_once',
  'forbidden',
  'refused',
  'gone_delta',
  'gone_listing',
  'stuck_cursor',
  'poison',
  'missing_meta',
  'wrong_mode',
  'replica_behind',
  'replica_back',
  'refresh_lost',
  'hook_lost',
  'hook_twice',
  'hook_late',
  'hook_cut',
] as const;

export type WeatherFault = (typeof weatherFaults)[number];

export interface Front {
  readonly fault: WeatherFault;
  readonly from: number;
  readonly to: number;
  readonly probability: number;
}

/** Fronts of bad weather pass over the run. After `clear` no fault strikes. */
export class Weather {
  #clear = false;
  readonly #chances = new Map<WeatherFault, Chance>();

  constructor(
    readonly fronts: readonly Front[],
    readonly scheduler: Scheduler,
    readonly chance: Chance,
    readonly counters: Counters,
  ) {}

  clear(): void {
    this.#clear = true;
  }

  strikes(fault: WeatherFault): boolean {
    if (this.#clear) return false;
    const { now } = this.scheduler;
    const front = this.fronts.find((one) => one.fault === fault && one.from <= now && now < one.to);
    if (front === undefined || !this.chanceOf(fault).yes(front.probability)) return false;
    this.counters.add(`fault:${fault}`);
    this.scheduler.note(`strikes ${fault}`);
    return true;
  }

  /** Returns whether this run contains faults of this kind. */
  forecasts(fault: WeatherFault): boolean {
    return this.fronts.some((one) => one.fault === fault);
  }

  chanceOf(fault: WeatherFault): Chance {
    const known = this.#chances.get(fault);
    if (known !== undefined) return known;
    const made = this.chance.fork(fault);
    this.#chances.set(fault, made);
    return made;
  }
}
