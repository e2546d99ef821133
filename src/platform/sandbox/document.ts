/** The input of a sandbox world. The same plan produces the same world. */
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
  /** Access token for the sandbox realm. Expires after two hours, like every user token. */
  readonly token: string;
  /** Access token for the live realm, where webhook endpoints are managed. */
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
  /** Number of seeded investments. The sandbox may have changed some since. */
  readonly investments: number;
}

/** The part of the ready document that depends only on the seed. */
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

/** Printed on one line when the sandbox is ready, and returned by `GET /_sandbox`. */
export interface ReadyDocument extends WorldDocument {
  readonly event: 'ready';
  readonly baseUrl: string;
  readonly control: string;
}
