import { resolve } from 'node:path'
import type { Command } from 'commander'
import { logFormats } from '../../configuration/service-configuration.js'
import type { EngineConfiguration } from '../../configuration/engine-configuration.js'
import { modelLabel } from 'rxspeech-engines/models/model-json'
import { logLevels } from 'rxspeech-server/operations/logger'
import { processIdentity } from 'rxspeech-server/operations/process-identity'
import type { EngineProcess, EngineProcessOptions } from '../../start/engine-process.js'
import { listenAddress } from '../parsing/addresses.js'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flag, flagGroup, refuseOtherFlags, repeatedFlag, type FlagValues } from '../parsing/flags.js'
import { natsFlags, natsOfFlags } from '../parsing/nats-flags.js'
import { oneOf, text, wholeNumber } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { packageModels } from '../process/package-files.js'
import { certificateOfFile, readServerCertificate } from '../service/certificate-files.js'
import { readConfigurationFile, type LoadedConfiguration } from '../service/configuration-file.js'
import { answerOf } from '../service/control.js'
import { natsOfFile } from '../service/nats-settings.js'
import { openLog, warnOfOutdatedNode } from '../service/open-log.js'
import { runUntilSignal } from '../service/run-until-signal.js'

const engineFlags = {
  ...natsFlags,
  models: repeatedFlag('<dir>', 'models, <tenant>/<name>/<version>/model.json; may be repeated', text),
  capacity: flag('<n>', 'segments at the same time (default: that of its engines)', wholeNumber({ min: 1, max: 1e5 })),
  name: flag('<name>', 'its name for permissions and in lists (default: that of the host)', text),
  region: flag('<name>', 'the region that it reports to services (default: none)', text),
  state: flag('<dir>', 'a folder in which rxspeech reload finds it (default: none)', text),
  operations: flag('<host:port>', 'address for /livez, /readyz and /metrics (default: none)', listenAddress),
  cert: flag('<file>', 'certificate chain of that address in PEM; without it on loopback only', text),
  key: flag('<file>', 'its private key in PEM', text),
  drainMs: flag('<ms>', 'time for open segments at the end (default: 60000)', wholeNumber({ min: 0, max: 3_600_000 })),
  logLevel: flag('<level>', 'debug, info, warn or error (default: info)', oneOf(logLevels)),
  logFormat: flag('<format>', 'text or json (default: text in a terminal, otherwise json)', oneOf(logFormats)),
  ...flagGroup('From a file:', {
    config: flag('<file>', 'all of the above, in YAML; docs/SCALING.md of the package rxspeech lists every key', text),
  }),
}

type EngineCall = CommandCall<typeof engineFlags, undefined>
type Loaded = LoadedConfiguration<EngineConfiguration>

/** `rxspeech engine`. */
export const addEngine = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description:
      'Recognizes speech for services on this and other machines, which find it over NATS. When it is ready, it prints one line of JSON on stdout. ' +
      'The log is on stderr. SIGTERM lets it finish its open segments; a second one ends it at once. SIGHUP, except in a terminal, reads models and the certificate again.',
    flags: engineFlags,
    examples: [
      ['rxspeech engine --nats nats://127.0.0.1:4222 --models ./models', 'an engine process on this machine'],
      ['rxspeech engine --config engine.yaml', 'for others'],
    ],
    run: runEngine,
  })

/** Runs until a signal ends it. The first signal drains, the second one ends the process at once. */
const runEngine = async ({ flags, given, host, output }: EngineCall): Promise<void> => {
  const loaded = await readFile(flags.config, given, host)
  const { level, format } = loaded?.values.log ?? {}
  const logger = await openLog(host, { level: flags.logLevel ?? level, format: flags.logFormat ?? format })
  const options = loaded === undefined ? optionsOfFlags(flags, host.env) : optionsOfFile(loaded, host.env)
  const { startEngineProcess } = await import('../../start/engine-process.js')
  await runUntilSignal(host, logger, async ({ ended, enableReload }) => {
    const engine = await startEngineProcess({ ...options, logger, instance: processIdentity().process })
    const folder = loaded?.values.stateFolder
    const stateFolder = folder === undefined ? flags.state && resolve(flags.state) : loaded?.path(folder)
    await enableReload(stateFolder, async () => answerOf(await engine.reload()))
    const summary = summaryOf(engine)
    output.write(`${JSON.stringify(summary)}\n`)
    logger.log('info', 'The engine process is ready.', { ...summary, models: summary.models.join(', ') })
    warnOfOutdatedNode(logger, host)
    const signal = await ended
    logger.log('info', 'The engine process is ending: it takes no more segments.', { signal })
    await engine.close({ drainMs: flags.drainMs ?? loaded?.values.drainMs })
    logger.log('info', 'The engine process has ended.')
  })
}

const summaryOf = ({ name, instance, models, capacity, operationsUrl }: EngineProcess) => ({
  name,
  instance,
  capacity,
  models: models.map(modelLabel),
  ...(operationsUrl !== undefined && { operations: operationsUrl }),
})

const readFile = async (
  file: string | undefined,
  given: readonly string[],
  host: Host,
): Promise<Loaded | undefined> => {
  if (file === undefined) return undefined
  refuseOtherFlags(given, ['config', 'logLevel', 'logFormat'])
  const { readEngineConfiguration } = await import('../../configuration/read-configuration.js')
  return readConfigurationFile(file, readEngineConfiguration, host)
}

const optionsOfFlags = (flags: FlagValues<typeof engineFlags>, env: Host['env']): EngineProcessOptions => {
  const { models, capacity, name, region, operations, cert: certFile, key: keyFile } = flags
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw usageError('--cert and --key belong together; set both.')
  }
  return {
    capacity,
    name,
    region,
    operations,
    env,
    nats: natsOfFlags(flags, env),
    modelFolders: models.length === 0 ? packageModels() : models,
    certificate:
      certFile === undefined || keyFile === undefined ? undefined : readServerCertificate({ certFile, keyFile }),
  }
}

const optionsOfFile = (loaded: Loaded, env: Host['env']): EngineProcessOptions => {
  const { values, path } = loaded
  const { nats = {}, models, capacity, name, region, operations, tls } = values
  return {
    capacity,
    name,
    region,
    operations,
    env,
    nats: natsOfFile(nats, loaded, env),
    modelFolders: models?.folders?.map(path) ?? packageModels(),
    certificate: certificateOfFile(tls, path),
  }
}
