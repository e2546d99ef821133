import { Fault } from '../../src/domain/fault.js';
import type { InstallationId } from '../../src/domain/ids.js';
import { type Instant, instantFromMillis } from '../../src/domain/instant.js';
import type {
  FollowedSource,
  FollowedSourceChange,
  FollowedSources,
  InstallationList,
  InstallationsApi,
  ListedInstallation,
  MintedToken,
  Realm,
} from '../../src/installations/ports.js';

export interface FakeInstallation extends ListedInstallation {
  readonly tokens: readonly string[];
}

/** The platform's side of one application: companies install it and revoke it. */
export class FakeApplication implements InstallationsApi {
  readonly calls: string[] = [];
  /** Called before each request; throws to let it fail. `after` is true once the platform acted on it. */
  fault: (call: string, after: boolean) => void = () => {};
  /** Installations that a listing leaves out although it claims nothing is missing. */
  hidden: (id: string) => boolean = () => false;
  isComplete = true;
  realmName: Realm = 'live';
  readonly #installations = new Map<string, FakeInstallation>();
  #made = 0;
  #minted = 0;

  constructor(private readonly now: () => number) {}

  install(company: string, name = company): InstallationId {
    this.#made += 1;
    const id = `inst_${this.#made}` as InstallationId;
    this.#installations.set(id, {
      id,
      targetType: 'company',
      target: company,
      targetName: name,
      isActive: true,
      revokedAt: null,
      tokens: [],
    });
    return id;
  }

  revoke(id: string): void {
    const one = this.#of(id);
    if (one.isActive)
      this.#installations.set(id, {
        ...one,
        isActive: false,
        revokedAt: instantFromMillis(this.now()),
        tokens: [],
      });
  }

  /** The platform forgets a revoked installation after 30 days. */
  drop(id: string): void {
    this.#installations.delete(id);
  }

  /** Ends the tokens of an installation that stays active. */
  refuseTokens(id: string): void {
    this.#installations.set(id, { ...this.#of(id), tokens: [] });
  }

  active(): readonly FakeInstallation[] {
    return [...this.#installations.values()].filter(({ isActive }) => isActive);
  }

  all(): readonly FakeInstallation[] {
    return [...this.#installations.values()];
  }

  minted(id: string): number {
    return this.calls.filter((call) => call === `mint ${id}`).length;
  }

  isValid(token: string | null): boolean {
    return token !== null && this.active().some(({ tokens }) => tokens.includes(token));
  }

  async realm(): Promise<Realm> {
    return this.realmName;
  }

  async list(): Promise<InstallationList> {
    return this.#answer('list', () => ({
      installations: this.all().filter(({ id }) => !this.hidden(id)),
      isComplete: this.isComplete,
    }));
  }

  async get(id: InstallationId): Promise<ListedInstallation | null> {
    return this.#answer(`get ${id}`, () => (this.hidden(id) ? null : (this.#installations.get(id) ?? null)));
  }

  async mint(id: InstallationId, scopes: readonly string[]): Promise<MintedToken> {
    return this.#answer(`mint ${id}`, () => {
      const one = this.#of(id);
      if (!one.isActive) throw new Fault('refused', 'the installation is revoked', { status: 409 });
      this.#minted += 1;
      const token = `at_live_canary${this.#minted}`;
      this.#installations.set(id, { ...one, tokens: [...one.tokens, token] });
      return { token, scopes };
    });
  }

  async accepts(token: string): Promise<boolean> {
    return this.#answer('accepts', () => this.isValid(token));
  }

  #of(id: string): FakeInstallation {
    const one = this.#installations.get(id);
    if (one === undefined) throw new Fault('refused', 'there is no such installation', { status: 404 });
    return one;
  }

  #answer<Answer>(call: string, act: () => Answer): Answer {
    this.calls.push(call);
    this.fault(call, false);
    const answer = act();
    this.fault(call, true);
    return answer;
  }
}

/** The table in memory, with the same rules for writes that met another state. */
export class MemoryFollowedSources implements FollowedSources {
  readonly rows = new Map<string, FollowedSource>();
  /** Called before and after each write; throws to let the process die there. */
  fault: (call: string, after: boolean) => void = () => {};
  #revision = 0;

  async list() {
    return [...this.rows.values()];
  }

  async revision() {
    return this.#revision;
  }

  async save(changes: readonly FollowedSourceChange[]) {
    this.fault('save', false);
    const lost = changes.filter(({ before, next }) => {
      const stored = this.rows.get(next.source);
      if (before === null || stored === undefined) return before !== null || stored !== undefined;
      return (
        stored.state !== before.state ||
        stored.installation !== before.installation ||
        stored.reason !== before.reason ||
        stored.eraseAfter !== before.eraseAfter ||
        stored.mints !== before.mints
      );
    });
    for (const { next } of changes.filter((one) => !lost.includes(one))) this.rows.set(next.source, next);
    if (lost.length < changes.length) this.#revision += 1;
    this.fault('save', true);
    return lost.map(({ next }) => next.source);
  }
}

export function at(day: number): Instant {
  return instantFromMillis(Date.parse('2026-11-01T00:00:00Z') + day * 86_400_000);
}
