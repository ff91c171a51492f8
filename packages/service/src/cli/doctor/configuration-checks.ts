import { dirname, resolve } from 'node:path'
import { either } from 'fp-ts'
import { readConfiguration } from '../../configuration/read-configuration.js'
import type { ServiceConfiguration } from '../../configuration/service-configuration.js'
import { connectNats } from 'rxspeech-nats/connection/connection'
import type { NatsOptions } from 'rxspeech-nats/connection/nats-options'
import type { ListenAddress } from 'rxspeech/internal/transport/listen-address'
import type { Host } from '../process/host.js'
import { readFileText, type LoadedConfiguration } from '../service/configuration-file.js'
import { natsOfFile } from '../service/nats-settings.js'
import { serviceOptions } from '../service/start-configured.js'
import { expiryFinding } from './certificates.js'
import { ok, wrong, type Check, type Finding } from './check.js'
import { modelsCheck, portsCheck } from './machine-checks.js'

/** The checks of a configuration file, and of what it names: secrets, certificates, models, ports and NATS. */
export const configurationChecks = async (
  file: string,
  env: Host['env'],
  modelsLimitMs: number,
): Promise<readonly Check[]> => {
  const values = await readConfiguration(readFileText('--config', file))
  const name = 'configuration'
  if (either.isLeft(values)) {
    const faults = values.left.map(({ line, column, key, sentence }) =>
      wrong(
        `${file}:${line}:${column}: ${key === '' ? '' : `${key}: `}${sentence.replace(/[.]?$/, '.')}`,
        'Correct the file.',
      ),
    )
    return [{ name, run: () => Promise.resolve(faults) }]
  }
  const folder = dirname(resolve(file))
  const loaded = { file, values: values.right, path: (path: string) => resolve(folder, path) }
  const { models, http, grpc, operations, engines, identity } = values.right
  const addresses = [http, grpc, operations].filter((address): address is ListenAddress => hasPort(address))
  return [
    { name, run: () => settingsFindings(loaded, env) },
    ...(engines?.nats === undefined
      ? []
      : [natsCheck('NATS (engines)', () => natsOfFile(engines.nats ?? {}, loaded, env))]),
    ...(identity?.nats === undefined
      ? []
      : [natsCheck('NATS (identity)', () => natsOfFile(identity.nats ?? {}, loaded, env))]),
    ...(addresses.length === 0 ? [] : [portsCheck(addresses)]),
    ...(models?.folders === undefined ? [] : [modelsCheck(models.folders.map(loaded.path), env, modelsLimitMs)]),
  ]
}

const hasPort = (address: ListenAddress | undefined): boolean => address !== undefined && address.port !== 0

/** Reads the secrets and certificates that the file names. */
const settingsFindings = async (
  loaded: LoadedConfiguration<ServiceConfiguration>,
  env: Host['env'],
): Promise<readonly Finding[]> => {
  const { certificate } = await serviceOptions(loaded, env)
  return [
    ok(`${loaded.file} and the files that it names`),
    ...(certificate === undefined ? [] : [expiryFinding(certificate.certificate, Date.now())]),
  ]
}

const natsCheck = (name: string, optionsOf: () => NatsOptions): Check => ({
  name,
  run: async (signal) => {
    const options = optionsOf()
    const connection = await connectNats(options, { name: 'rxspeech doctor', connectWithinMs: 3_000 })
    try {
      signal.throwIfAborted()
      const rtt = await connection.rtt()
      return ok(`${connection.getServer()} answers in ${rtt.toFixed(1)} ms`)
    } finally {
      await connection.close()
    }
  },
})
