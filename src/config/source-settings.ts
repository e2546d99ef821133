import { z } from 'zod';
import { credentials, token } from './access-settings.js';
import { idOf, scope, secretMark, sourceName, sourceTemplate } from './values.js';

/** The entries of `sources`: a source, or a rule that creates sources. */

const filters = z
  .strictObject({
    companyId: idOf('company', 'co_…').optional().meta({ description: "Only this company's investments" }),
    offeringId: idOf('offering', 'ofr_…')
      .optional()
      .meta({ description: 'Only investments in this offering' }),
    investorId: idOf('user', 'usr_…').optional().meta({ description: "Only this investor's investments" }),
  })
  .prefault({})
  .meta({
    description: 'Narrow what this source mirrors. After a change, run `rosterd sync --source NAME --resync`',
  });

const listedSource = z
  .strictObject({
    follow: z.undefined().optional(),
    name: sourceName.meta({
      description: 'Name of the source, stored in the `source` column of every table',
    }),
    token: token.meta({
      ...secretMark,
      description: 'Access token with the scope read:investments. Set this or credentials',
    }),
    credentials: credentials.meta({
      description: 'Sign-in made with `rosterd connect --source`, refreshed by the daemon',
    }),
    company: idOf('company', 'co_…').optional().meta({
      description: 'Company to mirror; also sets filters.companyId',
    }),
    installation: idOf('installation', 'inst_…').optional().meta({
      description:
        'Installation whose webhooks trigger this source. Without it, and for webhooks with an installation of no source, the company decides',
    }),
    filters,
  })
  .meta({ description: 'One source: the feed of one token, with its own cursor' });

const followRule = z
  .strictObject({
    follow: z.literal('installations').meta({
      description: 'Makes this entry a rule: each company that installed the application becomes a source',
    }),
    rule: sourceName.default('installations').meta({
      description: 'Name of the rule, unique among the rules; the registry of its sources refers to it',
    }),
    token: token.meta({
      ...secretMark,
      description:
        "Access token of a manager of the application's organization, with the scope write:installations. Set this or credentials",
    }),
    credentials: credentials.meta({
      description: "Sign-in of a manager of the application's organization, refreshed by the daemon",
    }),
    targets: z.literal('company').default('company').meta({
      description: 'Kind of target whose installations become sources; only companies so far',
    }),
    name: sourceTemplate.default('{slug}').meta({
      description:
        'Template of the names of its sources. {slug} is made of the name of the company, {company} of its id and {installation} of the id of the installation',
    }),
    scopes: z.array(scope).min(1).optional().meta({
      description:
        'Scopes of the tokens to mint; by default read:companies, read:investments and, if names are kept, read:investors:pii',
    }),
    identity: z.enum(['keep', 'drop']).optional().meta({
      description:
        'As the top-level identity, for the sources of this rule; by default the same. With drop there, no rule keeps names',
    }),
    afterRevoke: z
      .strictObject({
        keepDays: z.int().min(0).max(36_500).nullable().default(30).meta({
          description:
            'Days from the revocation of an installation until everything stored of its company is erased; 0 erases at once, null never',
        }),
      })
      .prefault({})
      .meta({ description: 'What happens to the rows of a company that revoked its installation' }),
    except: z
      .array(idOf('installation', 'inst_…'))
      .default([])
      .meta({ description: 'Installations that do not become sources' }),
    overrides: z
      .record(
        idOf('installation', 'inst_…'),
        z.strictObject({
          name: sourceName.optional().meta({ description: 'Name of the source, instead of the template' }),
        }),
      )
      .default({})
      .meta({
        description: 'Settings of single installations, by id: {"inst_…": {"name": "acme"}}',
      }),
  })
  .meta({ description: 'A rule: the companies that installed an application, one source each' });

export const source = z.discriminatedUnion('follow', [listedSource, followRule]);
