import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { WebSocket } from 'ws'
import { recordingOf, recordingsFolder } from './free-text-recordings.mjs'
import { openPeers } from './peers.mjs'
import { paced, summarize } from './play.mjs'
import { processCost } from './process-cost.mjs'
import { bytesOf, pinned, startMeasuredService } from './service-under-test.mjs'

const run = promisify(execFile)

const widths = [44, 12, 9, 9, 9, 12, 12, 10, 9]
const line = (cells) => console.log(cells.map((cell, at) => String(cell).padEnd(widths[at])).join(''))
const share = (value) => (value === undefined ? '-' : `${(100 * value).toFixed(1)} %`)
const seconds = (ms) => (ms === undefined ? '-' : `${(ms / 1000).toFixed(1)} s`)

const report = (name, recording, { wrong, firstTextMs, finalAfterMs, takenBack }, { own, below }) => {
  const audioS = recording.samples.length / recording.rateHz
  line([
    name,
    recording.name,
    share(wrong?.share),
    (below / audioS).toFixed(3),
    share(own / below),
    seconds(firstTextMs),
    seconds(finalAfterMs),
    takenBack ?? '-',
  ])
}

/** What the processes use while `work` runs. */
const costOf = async (cost, work) => {
  const before = cost()
  const result = await work()
  const after = cost()
  return {
    result,
    used: { own: after.own.cpuS - before.own.cpuS, below: after.below.cpuS - before.below.cpuS },
  }
}

/**
 * So often the first recording is played before: then the model is loaded, and the code compiled that runs for each
 * message.
 */
const warmUps = 3

/** What messages cost a process of Node: a server of `ws` that takes and drops them, without TLS. */
const measureBareServer = async (recordings) => {
  const [command, ...args] = pinned([process.execPath])
  const file = new URL('../service/bare-service.mjs', import.meta.url).pathname
  const server = fork(file, [], { execPath: command, execArgv: args })
  try {
    await once(server, 'message')
    server.send({ id: 1, request: 'access' })
    const [{ answer }] = await once(server, 'message')
    const socket = new WebSocket(answer.wsUrl)
    await once(socket, 'open')
    const play = async (recording, options) => {
      for await (const part of paced(recording, options)) socket.send(bytesOf(part))
    }
    for (let round = 0; round < warmUps; round += 1) await play(recordings[0], { isPaced: false })
    for (const recording of recordings) {
      const { used } = await costOf(
        () => processCost(server.pid),
        () => play(recording),
      )
      report('bare server, drops the audio', recording, {}, { own: 0, below: used.own })
    }
    socket.terminate()
  } finally {
    server.disconnect()
  }
}

const measureService = async (name, settings, recordings) => {
  const service = await startMeasuredService(settings)
  try {
    for (let round = 0; round < warmUps; round += 1) await service.play(recordings[0], { isPaced: false })
    for (const recording of recordings) {
      const { result, used } = await costOf(service.cost, () => service.play(recording))
      report(name, recording, result, used)
    }
  } finally {
    await service.close()
  }
}

const measurePeer = async (peer, recordings) => {
  try {
    for (const recording of recordings) {
      const sent = {}
      const { result, used } = await costOf(peer.cost, async () => {
        const updates = await peer.read(paced(recording, { sent }), recording.rateHz, sent)
        const finalMs = performance.now() - sent.beginMs
        return summarize(updates, { said: recording.text, sent, finalMs })
      })
      report(peer.name, recording, result, { own: 0, below: used.own + used.below })
    }
  } finally {
    await peer.close()
  }
}

const measureBare = async (recordings) => {
  const [command, ...args] = pinned([process.execPath, new URL('./bare-engine.mjs', import.meta.url).pathname])
  const { stdout } = await run(command, [...args, ...recordings.map(({ name }) => name)])
  for (const { name, wrong, cpuS } of JSON.parse(stdout)) {
    const recording = recordings.find((item) => item.name === name)
    report('bare engine, whole file', recording, { wrong: { share: wrong } }, { own: 0, below: cpuS })
  }
}

export const measureWords = async ({ peers }) => {
  const recordings = ['human52', 'callmono'].map(recordingOf).filter((recording) => recording !== undefined)
  if (recordings.length === 0) {
    console.log(`LEFT OUT: ${recordingsFolder} has neither human52.wav nor callmono.wav.`)
    return
  }
  line(['', 'recording', 'wrong', 'CPU', 'service', 'first text', 'final after', 'taken back'])
  await measureBare(recordings)
  await measureBareServer(recordings)
  await measureService('rxspeech, milestones only', { partials: 'off' }, recordings)
  await measureService('rxspeech, with partials', {}, recordings)
  if (peers === undefined) return
  for await (const peer of openPeers(peers)) await measurePeer(peer, recordings)
}
