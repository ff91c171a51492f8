// `npm run bench engine [-- calls seconds]`: what a call costs one process with the embedded engine, when each caller
// speaks 40 % of the time at the pace of speech. BEFORE=<folder of a built checkout> measures that checkout instead.
import { setTimeout as delay } from 'node:timers/promises'
import { Subject } from 'rxjs'
import { isPart, openSegmenter, recordingSets, withEngine } from './recordings.mjs'

const speechShare = 0.4
const chunkMs = 20
const chunkSamples = 8 * chunkMs

/** All turns of the sample call, each followed by a silence of one and a half times its length. */
const callAudio = (turns) => {
  const samples = turns.flatMap(({ samples: turn }) => {
    const silence = Math.round(turn.length * (1 / speechShare - 1))
    return [...turn, ...Array.from({ length: silence }, (_none, at) => ((at * 7919) % 61) - 30)]
  })
  return Int16Array.from(samples)
}

/** A caller whose audio begins at a place of its own and repeats. */
const openCall = async (engine, audio, fromSample, onHypothesis) => {
  const segmenter = await openSegmenter()
  const parts$ = new Subject()
  const subscription = parts$.pipe(engine.recognize()).subscribe(onHypothesis)
  let at = fromSample - (fromSample % chunkSamples)
  return {
    speak: () => {
      if (at + chunkSamples > audio.length) at = 0
      for (const part of segmenter.push(audio.subarray(at, at + chunkSamples))) if (isPart(part)) parts$.next(part)
      at += chunkSamples
    },
    end: () => {
      subscription.unsubscribe()
      segmenter.free()
    },
  }
}

/** Runs the calls at the pace of speech; a late timer is made up for, so that no audio is left out. */
const run = async (calls, durationMs) => {
  const beginMs = performance.now()
  for (let chunks = 0; chunks * chunkMs < durationMs;) {
    await delay(chunkMs)
    for (; chunks * chunkMs <= performance.now() - beginMs; chunks += 1) for (const call of calls) call.speak()
  }
}

export const benchEngine = async ([count = '4', duration = '20'] = []) => {
  const [sample] = await recordingSets()
  const audio = callAudio(sample.turns)
  await withEngine(sample, { workers: 1, decodersPerWorker: 16 }, async (engine) => {
    let milestones = 0
    let partials = 0
    const calls = []
    for (let number = 0; number < Number(count); number += 1) {
      const from = Math.floor((audio.length * number) / Number(count))
      calls.push(
        await openCall(engine, audio, from, ({ type }) => {
          if (type === 'segment') milestones += 1
          if (type === 'partial') partials += 1
        }),
      )
    }
    // Decoders are created and compiled in the first seconds.
    await run(calls, 6000)
    milestones = 0
    partials = 0
    const before = process.cpuUsage()
    const beginMs = performance.now()
    await run(calls, Number(duration) * 1000)
    const { user, system } = process.cpuUsage(before)
    const callSeconds = (calls.length * (performance.now() - beginMs)) / 1000
    for (const call of calls) call.end()
    const cost = (user + system) / 1e6 / callSeconds
    console.log(`${count} calls of ${duration} s, each with speech ${speechShare * 100} % of the time`)
    console.log(
      `milestones and partials per call and minute: ${[milestones, partials].map((sum) => ((60 * sum) / callSeconds).toFixed(1)).join(', ')}`,
    )
    console.log(`CPU per second of a call: ${(1000 * cost).toFixed(1)} ms; calls per core: ${(1 / cost).toFixed(1)}`)
  })
}
