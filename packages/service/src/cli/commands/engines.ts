import type { Command } from 'commander'
import { createBus } from 'rxspeech-nats/connection/bus'
import { connectNats } from 'rxspeech-nats/connection/connection'
import { listEngines } from 'rxspeech-nats/engines/list-engines'
import type { RosterEngine } from 'rxspeech-nats/engines/placement'
import { shownDigest } from 'rxspeech-server/operations/nats-use'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flagOr } from '../parsing/flags.js'
import { jsonFlag } from '../parsing/service-flags.js'
import { wholeNumber } from '../parsing/values.js'
import { natsFlags, natsOfFlags } from '../parsing/nats-flags.js'
import { secondsText, tableText } from '../view/plain-text.js'

const enginesFlags = {
  ...natsFlags,
  waitMs: flagOr('<ms>', 'how long to listen for engine processes', wholeNumber({ min: 1, max: 60_000 }), '1000'),
  json: jsonFlag,
}

/** `rxspeech engines`. */
export const addEngines = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description:
      'Lists the engine processes on NATS: their hosts, versions and models, how many of their places are used, how far they ' +
      'are behind their speakers, how far their clocks are ahead of that of this machine, whether they are draining, and since when they run. A model whose digest differs between ' +
      'engines has another content there. Exits with 1 if there is none.',
    flags: enginesFlags,
    examples: [['rxspeech engines --nats nats://127.0.0.1:4222', 'who is there']],
    run: list,
  })

const list = async ({ flags, host, output }: CommandCall<typeof enginesFlags, undefined>): Promise<void> => {
  const bus = createBus(await connectNats(natsOfFlags(flags, host.env), { name: 'rxspeech engines' }))
  try {
    const engines = (await listEngines(bus, flags.waitMs)).map(engineJson)
    output.write(flags.json ? `${JSON.stringify(engines)}\n` : engineTable(engines))
    if (engines.length > 0) return
    const within = `within ${flags.waitMs} ms`
    throw new SpeechError(
      'connection-failed',
      `NATS answers, but no engine process reported itself ${within}; start one with: rxspeech engine`,
    )
  } finally {
    await bus.close()
  }
}

const engineJson = ({
  address,
  region,
  host,
  software,
  models,
  used,
  capacity,
  state,
  lagMs,
  isBehind,
  clockAheadMs,
  startedAtMs,
}: RosterEngine) => ({
  ...address,
  region: region ?? null,
  host: host ?? null,
  version: software ?? null,
  models: [...models].map(([model, { digest, sampleRateHz }]) => ({ model, digest, sampleRateHz })),
  used,
  capacity,
  draining: state === 'draining',
  behind: isBehind,
  lagMs,
  clockAheadMs: clockAheadMs ?? null,
  since: new Date(startedAtMs).toISOString(),
})

type EngineJson = ReturnType<typeof engineJson>

const titles = [
  ...['NAME', 'INSTANCE', 'HOST', 'VERSION', 'REGION', 'USED', 'CAPACITY', 'LAG', 'CLOCK', 'STATE', 'SINCE'],
  'MODELS',
]

/** A line for each engine below a line of titles; only the titles if there is none. */
const engineTable = (engines: readonly EngineJson[]): string =>
  tableText(
    titles,
    engines.map(
      ({ name, instance, host, version, region, models, used, capacity, behind, draining, since, ...times }) => [
        ...[name, instance, host ?? '-', version ?? '-', region ?? '-'],
        ...[String(used), String(capacity), secondsText(times.lagMs)],
        times.clockAheadMs === null ? '-' : `${times.clockAheadMs < 0 ? '' : '+'}${secondsText(times.clockAheadMs)}`,
        ...[draining ? 'draining' : behind ? 'behind' : 'serving', since],
        models.map(({ model, digest }) => `${model} (${shownDigest(digest)})`).join(', '),
      ],
    ),
  )
