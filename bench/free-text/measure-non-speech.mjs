import { nonSpeechInputs } from './non-speech.mjs'
import { spelledWords } from './spelled-words.mjs'
import { startMeasuredService } from './service-under-test.mjs'

const sessionsAtOnce = 4

export const measureNonSpeech = async () => {
  const service = await startMeasuredService({})
  const inputs = nonSpeechInputs()
  const withText = []
  const errors = []
  let next = 0
  const run = async () => {
    for (let at = next++; at < inputs.length; at = next++) {
      const { name, rateHz, make } = inputs[at]
      try {
        const { text } = await service.play({ samples: make(), rateHz }, { isPaced: false })
        if (spelledWords(text).length > 0) withText.push(`${name}: ${text.trim()}`)
      } catch (error) {
        errors.push(`${name}: ${error.message}`)
      }
    }
  }
  const before = service.cost()
  await Promise.all(Array.from({ length: sessionsAtOnce }, run))
  const after = service.cost()
  await service.close()
  for (const text of withText) console.log(`  text    ${text}`)
  for (const error of errors) console.log(`  error   ${error}`)
  const cpuS = after.own.cpuS + after.below.cpuS - before.own.cpuS - before.below.cpuS
  console.log(
    `${withText.length} of ${inputs.length} inputs without speech gave text, ${errors.length} an error; ${cpuS.toFixed(0)} s of CPU for ${8 * inputs.length} s`,
  )
}
