import { modelsByName } from 'rxspeech-nats/engines/fleet-options'
import { logLevels } from 'rxspeech-server/operations/logger'
import { natsKeys } from './nats-configuration.js'
import { keysIn } from './option-row.js'
import { limitKeys } from './service-limits.js'
import { serviceRows } from './service-options.js'
import {
  absoluteUri,
  durationMs,
  listOf,
  oneOfWords,
  secretSource,
  section,
  setting,
  text,
  wholeFrom,
  yesOrNo,
  type Section,
  type SectionShape,
  type SectionValues,
  type Setting,
} from './settings.js'

const names = listOf(text)
const dayMs = 86_400_000

export const logFormats = ['json', 'text'] as const
export type LogFormat = (typeof logFormats)[number]

/** A client of the file, in addition to those of the store in the state folder. */
const subscriber = section(
  {
    clientId: setting(text, '', 'its name'),
    secret: setting(secretSource, '', 'the source of its secret'),
    tenants: setting(names, '["*"]', 'its grants'),
    projects: setting(names, '["*"]', 'its grants'),
    models: setting(names, '["*"]', 'its grants'),
    tokenLifetimeSeconds: setting(wholeFrom(60, 31_536_000), '31536000', 'how long its tokens are valid'),
  },
  ['clientId', 'secret'],
)

/** All keys of the file: those of options, and groups that make one option. Tested against `docs/OPERATING.md`. */
export const configuration = section({
  ...keysIn(serviceRows, ''),
  tls: section({
    certificateFile: setting(text, 'plain text, on loopback only', 'The certificate and its chain, PEM.'),
    keyFile: setting(text, 'none', 'Its private key, PEM.'),
  }),
  models: section(keysIn(serviceRows, 'models')),
  engines: section({
    nats: section(
      {
        ...natsKeys,
        name: setting(text, 'that of the host', 'The name of this process in the subjects of its messages.'),
        region: setting(text, 'none', 'Engine processes of this region are used.'),
        otherRegions: setting(
          yesOrNo,
          'false',
          'Whether those of other regions are used while none of the own one has a free place.',
        ),
        models: setting(
          modelsByName,
          'all of each; with a user, each of the name that offered it first',
          'Which models engine processes may offer, by their name: lists of `<tenant>/<name>`, `<tenant>/*` or `*`. See SCALING.md.',
        ),
        waitMs: durationMs(
          0,
          10_000,
          'How long the start waits for the first model; then it fails. With `models.defaultModel` it waits for that one, for at most a second, and starts.',
        ),
      },
      ['servers'],
    ),
  }),
  projects: section(keysIn(serviceRows, 'projects')),
  identity: section({
    ...keysIn(serviceRows, 'identity'),
    audience: setting(
      absoluteUri,
      'urn:rxspeech:service',
      'Token audience (`aud`). Changing it invalidates all issued tokens.',
    ),
    keysFile: setting(
      text,
      'those of the state folder',
      'Signing keys of several machines: a file that is only read; see Several machines.',
    ),
    rotateKeysAfterMs: setting(
      wholeFrom(dayMs, Number.MAX_SAFE_INTEGER),
      String(90 * dayMs),
      'The age at which a new key replaces the signing key.',
    ),
    failuresPerMinute: setting(
      wholeFrom(1, 1_000_000),
      '20',
      'Wrong secrets per minute that are allowed, by client and by address.',
    ),
    nats: section({
      ...natsKeys,
      bucket: setting(text, 'rxspeech-identity', 'The bucket of subscriptions and revoked tokens, created if missing.'),
      replicas: setting(wholeFrom(1, 5), '1', 'How many servers of the cluster store a new bucket.'),
    }),
  }),
  subscriptions: setting(
    listOf(subscriber.codec),
    'those of the state folder',
    'Subscribers: `clientId`, `secret` ({env: NAME} or {file: PATH}), `tenants`, `projects`, `models`, `tokenLifetimeSeconds` (60 to 31536000).',
  ),
  dialects: section(keysIn(serviceRows, 'dialects')),
  limits: section({
    ...limitKeys,
    ...keysIn(serviceRows, 'limits'),
    drainMs: durationMs(0, 10_000, 'How long running sessions have when the service ends.'),
  }),
  log: section({
    level: setting(oneOfWords(logLevels), 'info', 'debug, info, warn or error.'),
    format: setting(oneOfWords(logFormats), 'text on a terminal, otherwise json', 'json or text.'),
  }),
  studio: setting(
    yesOrNo,
    'false',
    'The page that shows a session, at `/` of http; a person has to enter a token there.',
  ),
})

/** The decoded file, with paths unchanged. */
export type ServiceConfiguration = SectionValues<typeof configuration.shape>

export interface ConfigurationRow {
  /** Such as `limits.maxSessionMs`. */
  readonly key: string
  readonly takes: string
  readonly byDefault: string
  readonly help: string
}

const isSection = (entry: Setting<unknown> | Section<SectionShape>): entry is Section<SectionShape> => 'shape' in entry

/** All keys for the documentation, in the order of the file. */
export const configurationRows = (shape: SectionShape = configuration.shape, above = ''): readonly ConfigurationRow[] =>
  Object.entries(shape).flatMap(([name, entry]): readonly ConfigurationRow[] =>
    isSection(entry)
      ? configurationRows(entry.shape, `${above}${name}.`)
      : [{ key: above + name, takes: entry.codec.name, byDefault: entry.byDefault, help: entry.help }],
  )
