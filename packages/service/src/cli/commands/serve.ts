import type { Command } from 'commander'
import { minSecretLength } from 'rxspeech-server/identity/clients/client-secret'
import { type Logger, logLevels } from 'rxspeech-server/operations/logger'
import { isLoopback } from 'rxspeech/internal/protocol/loopback'
import type { ListenAddress } from 'rxspeech/internal/transport/listen-address'
import { logFormats, type ServiceConfiguration } from '../../configuration/service-configuration.js'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flag, flagGroup, repeatedFlag, switchFlag, type FlagValues, refuseOtherFlags } from '../parsing/flags.js'
import type { Environment } from '../parsing/service-flags.js'
import { optionFlags, optionsOfFlags } from '../parsing/option-flags.js'
import { oneOf, text } from '../parsing/values.js'
import { exitCode, SilentExit, usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { readFileText, type LoadedConfiguration } from '../service/configuration-file.js'
import { answerOf } from '../service/control.js'
import type { PortName, ServeBasics, ServePlan, StartedService } from '../service/start-planned.js'
import { isCheckout, sampleCall } from '../process/package-files.js'
import { openLog, warnOfOutdatedNode } from '../service/open-log.js'
import { runUntilSignal } from '../service/run-until-signal.js'
import { paintFor } from '../view/paint.js'
import { serviceSummary } from '../view/service-summary.js'
import { programOf } from '../view/typed-command.js'

const { http, grpc, plain, ...otherOptions } = optionFlags

export const serveFlags = {
  dev: switchFlag('for this machine only: creates its own CA, certificate and subscription'),
  http,
  grpc,
  plain,
  studio: switchFlag('serve a page that shows sessions, at / (with --dev always); it asks for a token'),
  ...otherOptions,
  logLevel: flag('<level>', 'debug, info, warn or error (default: info)', oneOf(logLevels)),
  logFormat: flag('<format>', 'text or json (default: text in a terminal, otherwise json)', oneOf(logFormats)),
  ...flagGroup('From a file:', {
    config: flag(
      '<file>',
      'all of the above and more, in YAML; docs/OPERATING.md of the package rxspeech lists every key',
      text,
    ),
    check: switchFlag('only check the file and what it names; starts nothing'),
  }),
  ...flagGroup('Without --dev:', {
    cert: flag('<file>', 'certificate chain in PEM; without it plain text on loopback only', text),
    key: flag('<file>', 'its private key in PEM', text),
    clientId: flag('<id>', 'an additional subscriber; its secret is in RXSPEECH_CLIENT_SECRET', text),
    tenant: repeatedFlag('<name>', 'a tenant that it is granted; may be repeated (default: Default)', text),
  }),
}

type ServeFlags = FlagValues<typeof serveFlags>
type ServeCall = CommandCall<typeof serveFlags, undefined>

/** `rxspeech serve`. */
export const addServe = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description:
      'Runs the service. When it is ready, it prints its addresses on stdout: as one line of JSON, or as a summary in a terminal. ' +
      'The log is on stderr. ' +
      'SIGTERM ends sessions with their finals; a second one ends at once. SIGHUP, except in a terminal, reads models, projects and certificates again.',
    flags: serveFlags,
    examples: [
      ['rxspeech serve --dev --models ./models', 'a service for trying clients'],
      [
        'rxspeech serve --http 0.0.0.0:443 --grpc 0.0.0.0:8443 --cert chain.pem --key key.pem --client-id acme --tenant Acme --models ./models --state /var/lib/rxspeech',
        'for others',
      ],
      ['rxspeech serve --config service.yaml --check', 'check a configuration file; run it without --check'],
    ],
    run: serve,
  })

/** A service for others has the folders of its own flags or file alone, and not those of the account that runs it. */
const withUserModels = async (flags: ServeFlags, host: Host): Promise<ServeFlags> => {
  if (flags.models.length > 0) return flags
  const { userModelFolders } = await import('../parsing/user-settings.js')
  return { ...flags, models: await userModelFolders(host) }
}

const loopback = (port: number): ListenAddress => ({ host: '127.0.0.1', port })
const anyPort = loopback(0)

/** The ports of a development service, so that addresses and pages stay the same; registered for nothing else. */
export const developmentPorts = { plainHttp: 8780, http: 8781, grpc: 8782 } as const

/**
 * Checks the combination of the flags. Throws `invalid-options` with a sentence that says what to set, before anything
 * is opened.
 */
export const planServe = (flags: ServeFlags, env: Environment): ServePlan => {
  const { http = anyPort, grpc = anyPort, ...options } = optionsOfFlags(flags)
  const basics: ServeBasics = { options: { ...options, http, grpc }, hasStudio: flags.studio || flags.dev }
  return flags.dev ? planDevelopment(flags, basics) : planProduction(flags, basics, env)
}

const planDevelopment = (flags: ServeFlags, basics: ServeBasics): ServePlan => {
  const { cert, key, clientId, tenant } = flags
  if (cert !== undefined || key !== undefined || clientId !== undefined || tenant.length > 0) {
    throw usageError(
      '--dev creates its own certificate and subscription; omit --cert, --key, --client-id and --tenant.',
    )
  }
  const chosen = { http: flags.http, plainHttp: flags.plain, grpc: flags.grpc }
  const addresses = {
    http: flags.http ?? loopback(developmentPorts.http),
    plainHttp: flags.plain ?? loopback(developmentPorts.plainHttp),
    grpc: flags.grpc ?? loopback(developmentPorts.grpc),
  }
  for (const { host } of Object.values(addresses)) {
    if (!isLoopback(host)) throw usageError(`--dev is for this machine only; listen on 127.0.0.1, not on ${host}.`)
  }
  const preset = (['http', 'plainHttp', 'grpc'] as const).filter((name) => chosen[name] === undefined)
  return { mode: 'development', ...basics, options: { ...basics.options, ...addresses }, preset }
}

const planProduction = (flags: ServeFlags, basics: ServeBasics, env: Environment): ServePlan => {
  const { cert: certFile, key: keyFile, clientId, tenant } = flags
  if ((certFile === undefined) !== (keyFile === undefined))
    throw usageError('--cert and --key belong together; set both.')
  if (flags.plain !== undefined) throw usageError('--plain is for --dev; without it use --http without --cert.')
  const remote = [basics.options.http, basics.options.grpc].find(({ host }) => !isLoopback(host))
  if (certFile === undefined && remote !== undefined) {
    throw usageError(`Listening on ${remote.host} needs TLS; set --cert and --key, or listen on loopback only.`)
  }
  return {
    mode: 'production',
    ...basics,
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    subscriber: clientId === undefined ? undefined : { clientId, clientSecret: subscriberSecret(env) },
    tenants: tenant.length === 0 ? ['Default'] : tenant,
  }
}

const subscriberSecret = (env: Environment): string => {
  const clientSecret = env['RXSPEECH_CLIENT_SECRET'] ?? ''
  if (clientSecret.length >= minSecretLength) return clientSecret
  throw usageError(
    `The subscriber needs a secret; set RXSPEECH_CLIENT_SECRET to at least ${minSecretLength} characters.`,
  )
}

/**
 * Runs the service until a signal ends it. When the service is ready, it prints one line of JSON on stdout, and nothing
 * else; the log goes to stderr. The first signal drains: sessions get their finals. The second one ends the process at
 * once.
 */
const serve = async ({ flags, given, host, output }: ServeCall): Promise<void> => {
  const loaded = flags.config === undefined ? undefined : await readForServe(flags.config, given, host)
  if (flags.check) {
    await checkConfigured(loaded, { host, output })
    return
  }
  const { level, format } = loaded?.values.log ?? {}
  const logger = await openLog(host, { level: flags.logLevel ?? level, format: flags.logFormat ?? format })
  const start = async (): Promise<StartedService> => {
    if (loaded !== undefined) return (await loadConfigured()).startConfigured(loaded, logger, host.env)
    if (flags.models.length > 0) (await import('../input/find-models.js')).requireModels(flags.models)
    const plan = planServe(flags.dev ? await withUserModels(flags, host) : flags, host.env)
    const { startPlanned } = await import('../service/start-planned.js')
    return startPlanned(plan, logger, host.env)
  }
  const configuration = loaded && watchConfiguration(loaded.file)
  await runService({ start, drainMs: loaded?.values.limits?.drainMs, configuration, logger }, { host, output })
}

/** The code of the service is loaded on demand, so that help and errors appear at once. */
const loadConfigured = () => import('../service/start-configured.js')

/** The flags that can be combined with `--config`, which replaces all others. */
const withConfig: readonly string[] = ['config', 'check', 'logLevel', 'logFormat']

const readForServe = async (
  file: string,
  given: readonly string[],
  host: Host,
): Promise<LoadedConfiguration<ServiceConfiguration>> => {
  refuseOtherFlags(given, withConfig)
  return (await loadConfigured()).readConfigured(file, host)
}

const checkConfigured = async (
  loaded: LoadedConfiguration<ServiceConfiguration> | undefined,
  { host, output }: CommandContext,
): Promise<void> => {
  if (loaded === undefined) throw usageError('--check needs a file; set it with --config.')
  const { checkService } = await import('../../start/check-service.js')
  const { serviceOptions } = await loadConfigured()
  const { problems, notices } = await checkService(await serviceOptions(loaded, host.env))
  for (const notice of notices) host.stderr.write(`${notice}\n`)
  if (problems.length === 0) {
    output.write(`${loaded.file} has no faults.\n`)
    return
  }
  for (const { message } of problems) host.stderr.write(`${message}\n`)
  const count = problems.length === 1 ? 'a model or project' : `${problems.length} models or projects`
  host.stderr.write(`rxspeech: ${loaded.file} has no faults, but names ${count} with faults; nothing was started.\n`)
  throw new SilentExit(exitCode.usage)
}

/** A sentence if the file is not what it was; a reload does not read it. */
const watchConfiguration = (file: string): (() => string | undefined) => {
  const read = (): string | undefined => {
    try {
      return readFileText('--config', file)
    } catch {
      return undefined
    }
  }
  const before = read()
  return () =>
    read() === before
      ? undefined
      : `${file} has changed since the start; a reload reads the folders of models and projects, and the file itself needs a restart.`
}

interface ServiceRun {
  readonly start: () => Promise<StartedService>
  readonly configuration: (() => string | undefined) | undefined
  readonly drainMs: number | undefined
  readonly logger: Logger
}

const runService = (
  { start, drainMs, configuration, logger }: ServiceRun,
  { host, output }: CommandContext,
): Promise<void> =>
  runUntilSignal(host, logger, async ({ ended, enableReload }) => {
    const { service, access, hasSubscribers, movedPorts, stateFolder } = await start()
    await enableReload(stateFolder, async () => {
      const result = await service.reload()
      const notice = configuration?.()
      if (notice !== undefined) logger.log('warn', notice)
      return answerOf(result, notice)
    })
    const problems = [...service.models.problems(), ...service.projects.problems()]
    for (const { code, message } of problems) logger.log('warn', message, { code })
    if (service.models.list().length + problems.length === 0) {
      // Models of engine processes are used as soon as these report them.
      const remedy =
        service.models.isServed === undefined
          ? 'add one, and then run: rxspeech reload'
          : 'start an engine process that has one'
      logger.log('warn', `There is no model, so that no session can begin; ${remedy}`)
    }
    const isTerminal = host.stdout.isTTY
    // A closed stdout does not end the service.
    if (!isTerminal) output.write(`${JSON.stringify(access)}\n`)
    const { authUrl: http, grpc, operations, model } = access
    logger.log('info', 'The service is listening.', { http, grpc, operations, model })
    warnOfOutdatedNode(logger, host)
    for (const { name, from } of movedPorts) logger.log('warn', movedPort(name, from, access))
    if (!hasSubscribers) {
      logger.log(
        'warn',
        'No client can get a token yet; create a subscription with: rxspeech subscription create --state DIR',
      )
    }
    if (isTerminal) output.write(summaryOf(access, host))
    const signal = await ended
    logger.log('info', 'The service is shutting down: it refuses new sessions and finalizes running ones.', { signal })
    await service.close({ drainMs })
    logger.log('info', 'The service has stopped.')
  })

/** A sentence for a port that was taken. */
const movedPort = (name: PortName, from: number, access: StartedService['access']): string => {
  const what = {
    http: `tokens and WebSockets over TLS are at ${access.authUrl}`,
    plainHttp: `the page, and tokens and WebSockets without TLS, are at ${access.plainAuthUrl ?? ''}`,
    grpc: `gRPC is at ${access.grpc}`,
  }
  return `Port ${from} is in use by another program; ${what[name]}.`
}

const summaryOf = (access: StartedService['access'], { env, stdout }: Host): string =>
  serviceSummary(access, {
    program: programOf(env, !isCheckout),
    call: sampleCall(),
    folder: process.cwd(),
    paint: paintFor(stdout, env),
  })
