import { validateFormat, type AudioFormat, encodings, maxSampleRateHz, minSampleRateHz } from '../../audio/format.js'
import { columnsOf } from '../../operators/captions/caption-tokens.js'
import { usageError } from '../process/failure.js'
import { commonPace } from '../../client/audio/rate-limiter.js'
import type { InputRequest } from '../input/open-input.js'
import type { Pace } from '../input/sendable-audio.js'
import type { ModelChoice } from '../service/access.js'
import { sessionCredentials, hasCredentialFlags, type CredentialFlags } from './credential-flags.js'
import { isLoopback } from '../../protocol/loopback.js'
import { grpcAddressFlag, hostOf, proxyFlag, socketUrlFlag } from './address-flags.js'
import { choiceFlag, speakersFlag, speedFlag, textFlag, wholeNumberFlag } from './flag-values.js'
import type { RemotePlan, ServicePlan } from '../service/service-plan.js'

export interface TranscribeFlags extends CredentialFlags {
  readonly over?: string
  readonly models?: readonly string[]
  readonly model?: string
  readonly modelTenant?: string
  readonly speed?: string
  readonly format?: string
  readonly speakers?: string
  readonly record?: string
  readonly encoding?: string
  readonly rate?: string
  readonly channels?: string
  readonly url?: string
  readonly grpc?: string
  readonly plaintext?: boolean
  readonly ca?: string
  readonly proxy?: string | false
  readonly tenant?: string
  readonly project?: string
  readonly timeoutMs?: string
}

/** What `transcribe` is to do, checked. */
export interface TranscribePlan {
  readonly input: InputRequest
  readonly service: ServicePlan
  readonly over: 'grpc' | 'websocket'
  readonly pace: Pace
  readonly format: 'text' | 'ndjson' | 'vtt' | 'srt'
  readonly speakers: readonly [string, string]
  readonly timeoutMs?: number
  /** The file of the cassette. */
  readonly record?: string
}

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the flags. Throws `invalid-options` with a sentence that says what to give, before anything is opened. */
export const planTranscribe = (file: string, flags: TranscribeFlags, env: Environment): TranscribePlan => {
  const raw = rawFormat(flags)
  const service = servicePlan(flags, env)
  const over = transport(flags, service)
  const record = textFlag('--record', flags.record)
  const timeoutMs = wholeNumberFlag('--timeout-ms', flags.timeoutMs, { least: 1, most: 86_400_000 })
  const format = choiceFlag('--format', flags.format, ['text', 'ndjson', 'vtt', 'srt']) ?? 'text'
  return {
    input: { file: textFlag('FILE', file) ?? file, ...(raw === undefined ? {} : { raw }) },
    service,
    over,
    pace: pace(flags, service),
    format,
    speakers: speakers(flags, format),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(record === undefined ? {} : { record }),
  }
}

/**
 * As it is asked for. Else the embedded service, which limits no pace, takes all that it can read; one elsewhere may limit
 * it, which shows only when it refuses a session, so it gets no more than services commonly let through.
 */
const pace = ({ speed }: TranscribeFlags, { where }: ServicePlan): Pace => {
  const asked = speedFlag('--speed', speed)
  if (asked !== undefined) return { speed: asked }
  return where === 'here' ? { speed: Infinity } : commonPace
}

const longestCaptionName = 19

/** A caption has room for a short name only: half of its first line is for words. */
const speakers = (flags: TranscribeFlags, format: TranscribePlan['format']): readonly [string, string] => {
  const names = speakersFlag('--speakers', flags.speakers) ?? ['left', 'right']
  const isCaption = format === 'vtt' || format === 'srt'
  if (!isCaption || names.every((name) => columnsOf(name) <= longestCaptionName)) return names
  throw usageError(`--speakers of captions must be names of at most ${longestCaptionName} characters.`)
}

const rawFormat = ({ encoding, rate, channels }: TranscribeFlags): AudioFormat | undefined => {
  const coded = choiceFlag('--encoding', encoding, encodings)
  const sampleRateHz = wholeNumberFlag('--rate', rate, { least: minSampleRateHz, most: maxSampleRateHz })
  const channelCount = wholeNumberFlag('--channels', channels, { least: 1, most: 2 })
  if (coded !== undefined && sampleRateHz !== undefined) {
    return validateFormat({ encoding: coded, sampleRateHz, channels: channelCount ?? 1 })
  }
  if (coded !== undefined) throw usageError('Raw samples have a rate; give it by --rate, such as --rate 8000.')
  if (sampleRateHz === undefined && channelCount === undefined) return undefined
  throw usageError(
    '--rate and --channels are for raw samples, whose --encoding they need; a WAV file says them itself.',
  )
}

/** The service that the flags name. Throws `invalid-options`. */
export const servicePlan = (flags: TranscribeFlags, env: Environment): ServicePlan => {
  const url = socketUrlFlag('--url', flags.url)
  const grpc = grpcAddressFlag('--grpc', flags.grpc)
  const model = textFlag('--model', flags.model)
  const tenant = textFlag('--tenant', flags.tenant)
  const modelTenant = textFlag('--model-tenant', flags.modelTenant) ?? tenant
  const project = textFlag('--project', flags.project) ?? 'transcribe'
  const models = (flags.models ?? []).map((folder) => textFlag('--models', folder) ?? folder)
  if (url !== undefined || grpc !== undefined) {
    if (models.length > 0) throw usageError('--models is for the embedded service; the one at the address has its own.')
    if (model === undefined && flags.modelTenant !== undefined)
      throw usageError('--model-tenant is the tenant of a model; name it by --model.')
    const choice = model === undefined ? undefined : modelChoice(model, modelTenant)
    const proxy = proxyFlag('--proxy', flags.proxy)
    return {
      where: 'elsewhere',
      ...(url === undefined ? {} : { url }),
      ...(grpc === undefined ? {} : { grpc }),
      isPlaintext: plaintext(flags, grpc),
      ...(flags.ca === undefined ? {} : { caFile: textFlag('--ca', flags.ca) ?? flags.ca }),
      ...(proxy === undefined ? {} : { proxy }),
      credentials: sessionCredentials(flags, env),
      tenant: tenant ?? 'Default',
      project,
      ...(choice === undefined ? {} : { model: choice }),
    }
  }
  if (hasCredentialFlags(flags) || flags.ca !== undefined || flags.plaintext === true || flags.proxy !== undefined) {
    throw usageError(
      'Credentials, certificates and proxies are for a service elsewhere; give its address by --grpc or --url.',
    )
  }
  return {
    where: 'here',
    modelFolders: models,
    project,
    tenant: tenant ?? 'Default',
    ...(modelTenant === undefined ? {} : { modelTenant }),
    ...(model !== undefined ? { model } : models.length === 0 ? { model: 'call' } : {}),
  }
}

/** A model of the tenant that was named; without one, of those that all tenants share. */
const modelChoice = (name: string, tenant: string | undefined): ModelChoice =>
  tenant === undefined ? { name } : { name, tenant }

const plaintext = ({ plaintext = false, ca, url }: TranscribeFlags, grpc: string | undefined): boolean => {
  if (!plaintext) return false
  if (grpc === undefined) throw usageError('--plaintext is for --grpc; a socket without TLS is named by --url ws://….')
  if (!isLoopback(hostOf(grpc) ?? '')) {
    throw usageError('--plaintext is for a service on this machine only, else the token could be read on the way.')
  }
  if (ca !== undefined && url === undefined)
    throw usageError('--plaintext and --ca exclude each other; give one of them.')
  return true
}

/** gRPC, unless only the address of a socket is given. */
const transport = ({ over }: TranscribeFlags, service: ServicePlan): TranscribePlan['over'] => {
  const chosen = choiceFlag('--over', over, ['grpc', 'websocket'])
  if (service.where === 'here') return chosen ?? 'grpc'
  const taken = chosen ?? (service.grpc === undefined ? 'websocket' : 'grpc')
  return checkAddress(taken, service)
}

const checkAddress = (over: TranscribePlan['over'], { url, grpc, model }: RemotePlan): TranscribePlan['over'] => {
  if (over === 'grpc' && grpc === undefined) {
    throw usageError('A session over gRPC needs an address; give --grpc HOST:PORT, or --over websocket.')
  }
  if (over === 'websocket' && url === undefined) {
    throw usageError('A session over WebSocket needs an address; give --url wss://HOST, or --over grpc.')
  }
  if (over === 'websocket' && model === undefined) {
    throw usageError('A session over WebSocket names its model; give --model NAME.')
  }
  return over
}
