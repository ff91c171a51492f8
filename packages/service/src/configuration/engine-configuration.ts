import { logLevels } from 'rxspeech-server/operations/logger'
import { natsKeys } from './nats-configuration.js'
import { logFormats } from './service-configuration.js'
import {
  durationMs,
  listenAddress,
  listOf,
  oneOfWords,
  section,
  setting,
  text,
  wholeFrom,
  type SectionValues,
} from './settings.js'

/** All keys of the file of an engine process. A test compares them with `docs/SCALING.md`. */
export const engineConfiguration = section(
  {
    nats: section(natsKeys, ['servers']),
    models: section({
      folders: setting(listOf(text), 'that of the package', 'Folders of models; all of them are loaded at the start.'),
    }),
    capacity: setting(wholeFrom(1, 100_000), 'that of its engines', 'Segments that it recognizes at the same time.'),
    name: setting(text, 'that of the host', 'The name of this process in the subjects of its messages.'),
    region: setting(text, 'none', 'The region that it reports to services.'),
    stateFolder: setting(text, 'none', 'A folder in which `rxspeech reload` finds the process.'),
    operations: setting(listenAddress, 'nowhere', '`/livez`, `/readyz` and `/metrics`.'),
    tls: section({
      certificateFile: setting(text, 'plain text, on loopback only', 'The certificate of that address, PEM.'),
      keyFile: setting(text, 'none', 'Its private key, PEM.'),
    }),
    drainMs: durationMs(0, 60_000, 'How long open segments have when the process ends.'),
    log: section({
      level: setting(oneOfWords(logLevels), 'info', 'debug, info, warn or error.'),
      format: setting(oneOfWords(logFormats), 'text in a terminal, otherwise json', 'text or json.'),
    }),
  },
  ['nats'],
)

/** The decoded file, with paths unchanged. */
export type EngineConfiguration = SectionValues<typeof engineConfiguration.shape>
