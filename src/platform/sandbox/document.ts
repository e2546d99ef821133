/** The input of a sandbox world. The same plan produces the same world. */
export interface WorldPlan {
  readonly seed: number;
  readonly companies: number;
  /** Investments per company. */
  readonly records: number;
  /** Share of the companies that have the application installed, from 0 to 1. */
  readonly installed: number;
  /** Absolute path of a file of JSON Lines whose companies, rounds and investments are added. */
  readonly importFile: string | null;
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

/** A company that has not installed the application. */
export type UninstalledCompany = Omit<WorldCompany, 'installation' | 'token' | 'tokenWithoutIdentity'>;

/** The seeded sandbox realm. */
export interface SandboxRealm {
  readonly apps: readonly WorldApp[];
  readonly users: readonly WorldUser[];
  readonly companies: readonly WorldCompany[];
  /** Empty unless the plan leaves companies without an installation. */
  readonly uninstalled: readonly UninstalledCompany[];
  readonly syndicates: readonly Omit<WorldSyndicate, 'key'>[];
}

/** Keys of an application in both realms. The first pair is for the sandbox realm. */
export interface WorldApp {
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
  readonly live: { readonly clientId: string; readonly clientSecret: string };
}

/** The live realm, apart from the sandbox realm. Its users are those of the sandbox realm, with their `liveToken`. */
export interface LiveRealm {
  readonly companies: readonly WorldCompany[];
  readonly syndicates: readonly WorldSyndicate[];
  /** An application of another organization that the platform has not reviewed: its live key is restricted. */
  readonly unreviewed: WorldApp & {
    /** The owner of its organization, for whom the live key works. */
    readonly owner: {
      readonly id: string;
      readonly email: string;
      readonly token: string;
      readonly liveToken: string;
    };
  };
}

/** An application of the attribution program with its tokens. Every scope is one that the platform grants. */
export interface AttributionWorld {
  readonly app: WorldApp;
  readonly scopes: readonly string[];
  /** On the first company, in the sandbox realm and in the live realm. */
  readonly installation: string;
  readonly token: string;
  readonly liveInstallation: string;
  readonly liveToken: string;
  /** The founder of that company, an approved partner, and two users who are no partners yet. */
  readonly users: readonly {
    readonly id: string;
    readonly email: string;
    readonly token: string;
    readonly liveToken: string;
  }[];
}

export interface WorldSyndicate {
  readonly id: string;
  readonly installation: string;
  readonly token: string;
  /** API key of the syndicate. Does not expire. */
  readonly key: string;
}

/** The part of the ready document that depends only on the seed. */
export interface WorldDocument extends SandboxRealm {
  readonly syndicates: readonly WorldSyndicate[];
  readonly live: LiveRealm;
  readonly attribution: AttributionWorld;
}

/** Printed on one line when the sandbox is ready, and returned by `GET /_sandbox`. */
export interface ReadyDocument extends WorldDocument {
  readonly event: 'ready';
  readonly baseUrl: string;
  readonly control: string;
}
