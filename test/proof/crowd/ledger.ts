import type { AskedRequest } from '../../../src/platform/sandbox/requests.js';

export type RequestKind =
  | 'installations'
  | 'tokens'
  | 'listing'
  | 'delta'
  | 'grant check'
  | 'catalog'
  | 'sign-in'
  | 'other';

/** A grant is checked with a listing of this many records. */
const sampleRecords = '10';

export function kindOf({ method, path, query }: AskedRequest): RequestKind {
  if (path.startsWith('/installations')) return method === 'POST' ? 'tokens' : 'installations';
  if (path.startsWith('/oauth')) return 'sign-in';
  if (path === '/investments' || path.startsWith('/investments?')) {
    if (query.per_page === sampleRecords) return 'grant check';
    return query.updated_since !== undefined || query.cursor !== undefined ? 'delta' : 'listing';
  }
  if (/^\/(companies|offerings|updates)/.test(path)) return 'catalog';
  return 'other';
}

/** Counts what the platform was asked, by kind, and the longest time between two reads of a token. */
export class Counted {
  readonly #counts = new Map<string, number>();
  readonly #lastRead = new Map<string, number>();
  longestGapMillis = 0;
  refused = 0;
  all = 0;
  #seq = 0;
  readonly #waiting: (() => void)[] = [];

  /** Reads what was asked since. The platform keeps the last ten thousand requests: call this often enough. */
  async read(ask: (path: string) => Promise<{ readonly requests: readonly AskedRequest[] }>): Promise<void> {
    const waiting = this.#waiting.splice(0);
    const { requests } = await ask(`/requests?since=${this.#seq}`);
    const [first] = requests;
    if (first !== undefined && this.#seq > 0 && first.seq !== this.#seq + 1)
      throw new Error('requests were missed');
    for (const request of requests) this.#add(request);
    for (const resolve of waiting) resolve();
  }

  #add(request: AskedRequest): void {
    this.#seq = request.seq;
    const kind = kindOf(request);
    this.all += 1;
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    if (request.status === 429) {
      this.refused += 1;
      return;
    }
    if (request.tokenId === null || request.path !== '/investments') return;
    const at = Date.parse(request.at);
    const before = this.#lastRead.get(request.tokenId);
    if (before !== undefined) this.longestGapMillis = Math.max(this.longestGapMillis, at - before);
    this.#lastRead.set(request.tokenId, at);
  }

  /** Resolves when everything asked until now is counted. */
  async settled(): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Starts from zero, and from now on for gaps. */
  restart(): void {
    this.#counts.clear();
    this.all = 0;
    this.refused = 0;
    this.longestGapMillis = 0;
  }

  /** Starts from zero, with a platform that starts to number its requests again. */
  forget(): void {
    this.restart();
    this.#lastRead.clear();
    this.#seq = 0;
  }

  /** Tokens that have read, and the time since the one that waits longest, at `now`. */
  waiting(now: number): { readonly tokens: number; readonly longestMillis: number } {
    let longest = 0;
    for (const at of this.#lastRead.values()) longest = Math.max(longest, now - at);
    return { tokens: this.#lastRead.size, longestMillis: Math.max(longest, this.longestGapMillis) };
  }

  get byKind(): string {
    return [...this.#counts]
      .sort(([, a], [, b]) => b - a)
      .map(([kind, count]) => `${kind} ${count.toLocaleString('en-US')}`)
      .join(', ');
  }
}
