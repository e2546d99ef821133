import { timingSafeEqual } from 'node:crypto';
import type { Request } from 'express';
import { Fault } from '../../domain/fault.js';
import { lowerRole, type Role } from '../../domain/role.js';
import type { Clock } from '../../runtime/clock.js';
import type { Logger } from '../../runtime/logger.js';
import type { Random } from '../../runtime/random.js';
import type { Actor } from '../ports/operations.js';
import { digestOf, KnownSecret, rereadMillis, secretMillis } from './known-secret.js';
import { type ProxySignIn, type ProxyUser, proxyUsers } from './proxy-users.js';
import type { Refusals } from './refusals.js';

/** A token, or a password with its user. */
export interface Credential {
  /** The name of its user in the audit log. */
  readonly name: string;
  readonly role: Role;
  readonly secret: () => Promise<string>;
}

/** How clients authenticate. Secrets are read at use, so that a rotated one takes effect without a restart. */
export interface ConsoleAuth {
  readonly tokens: readonly Credential[];
  /** Basic authentication; its secret is `user:password`. */
  readonly basic: Credential | null;
  readonly proxy: ProxySignIn | null;
}

export interface Admitted {
  readonly kind: 'admitted';
  readonly actor: Actor;
  /** Changes when the credential, its name or its role changes. */
  readonly mark: string;
}
export type Admission = Admitted | { readonly kind: 'refused' | 'slow down' };

export interface AuthenticatorParts {
  readonly auth: ConsoleAuth;
  readonly refusals: Refusals;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Known {
  readonly credential: Credential;
  readonly secret: KnownSecret;
}

/**
 * Checks credentials. Each credential is compared in constant time, and only wrong ones are counted: the right
 * credential is admitted at once even while attackers guess. Its length protects against guessing.
 */
export class Authenticator {
  readonly #key: Buffer;
  readonly #tokens: readonly Known[];
  readonly #basic: readonly Known[];
  readonly #userOf: ((request: Request) => ProxyUser) | null;

  constructor(private readonly parts: AuthenticatorParts) {
    this.#key = parts.random.bytes(32);
    const { tokens, basic, proxy } = parts.auth;
    this.#tokens = tokens.map((credential) => this.#known(credential));
    this.#basic = basic === null ? [] : [this.#known(basic)];
    this.#userOf = proxy === null ? null : proxyUsers(proxy);
  }

  /** Whether people can sign in on a page, with a token. */
  get takesTokens(): boolean {
    return this.#tokens.length > 0;
  }

  get takesPassword(): boolean {
    return this.#basic.length > 0;
  }

  /** Makes the next comparison read the secrets again. */
  reread(): void {
    for (const { secret } of [...this.#tokens, ...this.#basic]) secret.reread();
  }

  /** Returns the user that the reverse proxy names in a request, with the mark of its sessions. */
  userOf(request: Request): Exclude<ProxyUser, { kind: 'user' }> | Admitted {
    const user: ProxyUser = this.#userOf?.(request) ?? { kind: 'none' };
    if (user.kind !== 'user') return user;
    const actor: Actor = { name: `proxy:${user.name}`, role: user.role };
    return { kind: 'admitted', actor, mark: this.#markOf(actor, '') };
  }

  /** Counts a rejected request and returns how to respond to it. */
  refuse(): 'refused' | 'slow down' {
    return this.parts.refusals.count();
  }

  /**
   * Checks an `Authorization` header. Returns undefined when its scheme is not configured. `byToken` says that it has a
   * token, which no page of another site can add.
   */
  async judgeHeader(
    header: string | undefined,
  ): Promise<{ readonly judged: Admission; readonly byToken: boolean } | undefined> {
    const [scheme, value = ''] = (header ?? '').split(' ', 2);
    switch (scheme?.toLowerCase()) {
      case 'bearer':
        return this.takesTokens ? { judged: await this.judgeToken(value), byToken: true } : undefined;
      case 'basic': {
        if (!this.takesPassword) return undefined;
        const judged = await this.#judge(Buffer.from(value, 'base64').toString(), this.#basic);
        return { judged, byToken: false };
      }
      default:
        return undefined;
    }
  }

  /** Throws `usage` when no credential matches and one of them cannot be read. */
  async judgeToken(token: string): Promise<Admission> {
    return await this.#judge(token, this.#tokens);
  }

  /**
   * Returns the marks of all current credentials. While a secret cannot be read, the last one that was read stays valid
   * for existing sessions. Throws `usage` when no secret could ever be read.
   */
  async marks(): Promise<ReadonlySet<string>> {
    const all = [...this.#tokens, ...this.#basic];
    const read = await Promise.allSettled(all.map(({ secret }) => secret.digest(secretMillis)));
    const marks = all.flatMap(({ credential, secret }) =>
      secret.last === null ? [] : [this.#markOf(credential, secret.last.toString('hex'))],
    );
    if (marks.length === 0 && read.some(({ status }) => status === 'rejected')) throw cannotCheck();
    return new Set(marks);
  }

  async #judge(given: string, among: readonly Known[]): Promise<Admission> {
    const digest = digestOf(given, this.#key);
    const unread: unknown[] = [];
    for (const ageMillisMax of [secretMillis, rereadMillis]) {
      unread.length = 0;
      let admitted: Admitted | null = null;
      for (const { credential, secret } of among) {
        const expected = await secret.digest(ageMillisMax).catch((error: unknown) => {
          unread.push(error);
          return null;
        });
        if (expected === null || !timingSafeEqual(digest, expected)) continue;
        // Two credentials may have one value after a rotation by mistake; the lower role applies.
        const lower =
          admitted === null || lowerRole(credential.role, admitted.actor.role) !== admitted.actor.role;
        if (lower)
          admitted = {
            kind: 'admitted',
            actor: { name: credential.name, role: credential.role },
            mark: this.#markOf(credential, expected.toString('hex')),
          };
      }
      if (admitted !== null) return admitted;
    }
    if (unread.length > 0) throw cannotCheck(unread[0]);
    return { kind: this.parts.refusals.count() };
  }

  #known(credential: Credential): Known {
    const { clock, logger } = this.parts;
    const secret = new KnownSecret({
      read: credential.secret,
      key: this.#key,
      clock,
      onFailed: (error) => logger.error({ error }, 'the secret of the console cannot be read'),
    });
    return { credential, secret };
  }

  #markOf({ name, role }: Actor, secret: string): string {
    return digestOf(JSON.stringify([name, role, secret]), this.#key).toString('hex');
  }
}

/** The fault goes to a client that has not signed in, so it does not show where the secret is stored. */
const cannotCheck = (cause?: unknown): Fault =>
  new Fault('usage', 'the sign-in cannot be checked now', { hint: 'see the log of rosterd', cause });
