/** What a world is made from: the same plan gives the same world. */
export interface WorldPlan {
  readonly seed: number;
  readonly companies: number;
  /** Investments per company. */
  readonly records: number;
}

export interface WorldUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  /** Acts in the sandbox realm; lasts two hours, as a person's tokens do. */
  readonly token: string;
  /** Acts on live accounts, where webhook endpoints are managed. */
  readonly liveToken: string;
  readonly refreshToken: string;
  readonly liveRefreshToken: string;
}

export interface WorldCompany {
  readonly id: string;
  readonly name: string;
  readonly offering: string;
  readonly offerings: readonly string[];
  readonly founder: string;
  readonly installation: string;
  readonly token: string;
  readonly tokenWithoutIdentity: string;
  /** How many were seeded; the sandbox may have changed some since. */
  readonly investments: number;
}

/** Everything the seed decides, and so the same for the same seed. */
export interface WorldDocument {
  readonly apps: readonly {
    readonly name: string;
    readonly clientId: string;
    readonly clientSecret: string;
    readonly redirectUri: string;
    readonly live: { readonly clientId: string; readonly clientSecret: string };
  }[];
  readonly users: readonly WorldUser[];
  readonly companies: readonly WorldCompany[];
  readonly syndicates: readonly {
    readonly id: string;
    readonly installation: string;
    readonly token: string;
  }[];
}

/** Printed on one line when the sandbox answers; also what `GET /_sandbox` returns. */
export interface ReadyDocument extends WorldDocument {
  readonly event: 'ready';
  readonly baseUrl: string;
  readonly control: string;
}
