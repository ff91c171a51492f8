import type { Command } from 'commander'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { wrong, runChecks, type Check, type Finding, type NamedFinding } from '../doctor/check.js'
import type { ServiceTarget } from '../doctor/service-checks.js'
import { authUrl, grpcAddress, socketUrl } from '../parsing/addresses.js'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flag, flagOr, type FlagValues } from '../parsing/flags.js'
import { jsonFlag, modelFlags, planService, serviceFlags, type Environment } from '../parsing/service-flags.js'
import { text, wholeNumber } from '../parsing/values.js'
import { exitCode, SilentExit, usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { watchInterruption } from '../process/interruption.js'
import { packageModels } from '../process/package-files.js'
import type { Access } from '../service/access.js'
import { readCertificates } from '../service/certificate-files.js'
import { helpColumns } from '../parsing/help-text.js'
import { findingsSummary, findingText } from '../doctor/findings-view.js'
import { userModelFolders } from '../parsing/user-settings.js'
import { settingsCheck } from '../doctor/settings-check.js'
import { LiveScreen } from '../view/live-screen.js'
import { paintFor } from '../view/paint.js'
import { developmentPorts } from './serve.js'

export const doctorFlags = {
  config: flag('<file>', 'also check the configuration file of a service, and what it names', text),
  json: jsonFlag,
  ...modelFlags,
  ...serviceFlags,
  timeoutMs: flagOr('<ms>', 'the limit of each check', wholeNumber({ min: 100, max: 600_000 }), '10000'),
}

type DoctorFlags = FlagValues<typeof doctorFlags>

/** The checked plan of `doctor`. */
export interface DoctorPlan {
  /** Undefined to check this machine. */
  readonly target: ServiceTarget | undefined
  readonly modelFolders: readonly string[]
  readonly proxy: string | false | undefined
  readonly config: string | undefined
  readonly timeoutMs: number
}

/** `rxspeech doctor`: a line for each finding on stdout. */
export const addDoctor = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description:
      'Checks this machine, or a service by its addresses: versions, packages, models and a recognized sample, ports, proxy, ' +
      'microphone; certificates, clock, token, and a short session over each interface. Each line is ok, a warning, or wrong ' +
      'with what to do. Exit code 1 if anything is wrong.',
    argument: ['[address...]', 'of a service: wss://HOST, HOST:PORT for gRPC, https://HOST for tokens'],
    flags: doctorFlags,
    // The address of a setting would leave no way to check this machine.
    usesSettings: false,
    examples: [
      ['rxspeech doctor', 'this machine'],
      ['rxspeech doctor --access .rxspeech/development.json', 'the service of serve --dev'],
      [
        'rxspeech doctor wss://speech.example.com speech.example.com:443 https://auth.example.com --client-id acme --model english',
        'a service; the secret is in RXSPEECH_CLIENT_SECRET',
      ],
      ['rxspeech doctor --config rxspeech.yaml --json', 'a configuration before it is used, for programs'],
    ],
    run: examine,
  })

const examine = async ({
  argument: addresses,
  flags,
  host,
  output,
}: CommandCall<typeof doctorFlags, readonly string[]>): Promise<void> => {
  const plan = planDoctor(addresses, flags, host.env)
  const interruption = watchInterruption(host, { also: output.closed })
  const screen = new LiveScreen({ out: output.terminal, err: host.stderr, env: host.env })
  const style = {
    paint: paintFor(host.stdout, host.env),
    columns: host.stdout.isTTY ? helpColumns(host.stdout) : undefined,
  }
  const findings: NamedFinding[] = []
  try {
    const checks = await checksOf(plan, host)
    const limits = {
      limitMs: plan.timeoutMs,
      signal: interruption.signal,
      begins: (name: string) => screen.paint([], [`checking ${name} …`]),
    }
    for await (const found of runChecks(checks, limits)) {
      findings.push(...found)
      if (!flags.json) screen.print(found.map((finding) => findingText(finding, style)).join(''))
    }
  } finally {
    screen.clear()
    interruption.release()
  }
  const isOk = findings.every(({ status }) => status !== 'wrong')
  output.write(flags.json ? `${JSON.stringify({ ok: isOk, findings })}\n` : `\n${findingsSummary(findings)}`)
  if (!isOk) throw new SilentExit(exitCode.failed)
}

/** The kind of an address follows from its scheme; the flags may name others. Throws `invalid-options`. */
export const planDoctor = (addresses: readonly string[], typed: DoctorFlags, env: Environment): DoctorPlan => {
  const flags = addresses.reduce(withAddress, typed)
  const { access, url, grpc, authUrl: tokens, config, timeoutMs, models, proxy } = flags
  const isRemote = [access, url, grpc, tokens].some((value) => value !== undefined)
  if (isRemote && models.length > 0) throw usageError('--models is for this machine; omit it with an address.')
  if (isRemote && config !== undefined) throw usageError('--config is for this machine; omit it with an address.')
  return {
    target: isRemote ? targetOf(flags, env) : undefined,
    modelFolders: models,
    proxy,
    config,
    timeoutMs,
  }
}

const withAddress = (flags: DoctorFlags, address: string): DoctorFlags => {
  const [name, parsed] = /^https?:/i.test(address)
    ? (['authUrl', authUrl(address, 'ADDRESS')] as const)
    : /^wss?:/i.test(address)
      ? (['url', socketUrl(address, 'ADDRESS')] as const)
      : (['grpc', grpcAddress(address, 'ADDRESS')] as const)
  if (flags[name] !== undefined) throw usageError(`Two addresses of one kind; check one service at a time.`)
  return { ...flags, [name]: parsed }
}

const targetOf = (flags: DoctorFlags, env: Environment): ServiceTarget => {
  const { access } = flags
  const url = flags.url ?? access?.wsUrl
  const grpc = flags.grpc ?? access?.grpc
  const caFile = flags.ca ?? access?.ca
  // An address of tokens alone, to be checked, is no client.
  const tokens = flags.clientId === undefined ? undefined : flags.authUrl
  return {
    url,
    grpc,
    authUrl: flags.authUrl ?? access?.authUrl,
    isPlaintext: flags.plaintext,
    ca: caFile === undefined ? undefined : readCertificates('--ca', caFile),
    proxy: flags.proxy,
    access: accessOf({ ...flags, url, grpc, authUrl: tokens, model: flags.model ?? modelOf(access) }, env),
  }
}

/** An empty model is none. */
const modelOf = (access: DoctorFlags['access']): string | undefined =>
  access?.model === '' ? undefined : access?.model

/** The access with credentials, or the finding that they are missing. */
const accessOf = (flags: DoctorFlags, env: Environment): Access | Finding => {
  if (flags.url === undefined && flags.grpc === undefined) {
    return {
      status: 'warning',
      message: 'No session is tried without an address of one.',
      remedy: 'Add wss://HOST or HOST:PORT.',
    }
  }
  try {
    const plan = planService(flags, env)
    if (plan.where === 'here') throw usageError('A service elsewhere needs an address.')
    const { where: _where, caFile, ...access } = plan
    return { ...access, ca: caFile === undefined ? undefined : readCertificates('--ca', caFile) }
  } catch (error) {
    if (!isSpeechError(error)) throw error
    return wrong(error.message)
  }
}

/** Models and a service in this process need longer than any other check. */
const recognitionLimitMs = 60_000

const checksOf = async ({ target, ...plan }: DoctorPlan, host: Host): Promise<readonly Check[]> => {
  const machine = await import('../doctor/machine-checks.js')
  const { timeoutMs, modelFolders, proxy, config } = plan
  const versions = [machine.nodeCheck(host.nodeVersion), machine.packagesCheck]
  const network = machine.proxyCheck(proxy, host.env)
  if (target !== undefined) {
    const { serviceChecks } = await import('../doctor/service-checks.js')
    return [...versions, network, ...serviceChecks(target, timeoutMs)]
  }
  const ports = Object.values(developmentPorts).map((port) => ({ host: '127.0.0.1', port }))
  const { configurationChecks } = await import('../doctor/configuration-checks.js')
  const limitMs = Math.max(timeoutMs, recognitionLimitMs)
  const folders = modelFolders.length === 0 ? [...(await userModelFolders(host)), ...packageModels()] : modelFolders
  return [
    ...versions,
    await settingsCheck(host),
    machine.modelsCheck(folders, host.env, limitMs),
    { ...machine.recognitionCheck(host, limitMs), limitMs },
    ...(config === undefined ? [machine.portsCheck(ports)] : await configurationChecks(config, host.env, limitMs)),
    network,
    machine.uploadsCheck(host.env),
    machine.audioCheck(),
  ]
}
