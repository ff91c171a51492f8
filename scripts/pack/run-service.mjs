// @ts-check
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

const timeoutMs = 120_000

/**
 * Starts the service by its command as `npx` does, and transcribes the beginning of the sample call with the engine of the package.
 *
 * @param {string} project where both packages are installed
 */
export const runService = async (project) => {
  /** @param {string} name @param {ReadonlyArray<string>} args */
  const start = (name, args) => {
    const program = join(project, 'node_modules/.bin', name)
    const child = spawn(program, args, { cwd: project, timeout: timeoutMs, stdio: 'pipe' })
    return { child, stdout: text(child.stdout), stderr: text(child.stderr) }
  }

  const serve = start('rxspeech-service', ['serve', '--dev'])
  const page = new Promise((resolve) => {
    serve.child.stdout.once('data', (line) => {
      const read = async () => (await fetch(JSON.parse(line).pageUrl)).text()
      resolve(read().finally(() => serve.child.kill('SIGINT')))
    })
    serve.child.once('close', () => resolve(''))
  })
  const [ready = ''] = (await serve.stdout).split('\n')
  if (!ready.startsWith('{"authUrl":')) throw new Error(`The service did not start: ${ready}${await serve.stderr}`)
  if (!(await page).includes('<title>')) throw new Error(`The page of the service is missing: ${await page}`)

  const call = await readFile(join(project, 'node_modules/rxspeech-service/samples/call.wav'))
  const telephone = ['--encoding', 'ulaw', '--rate', '8000', '--channels', '2']
  const transcribe = start('rxspeech', ['transcribe', '-', ...telephone])
  transcribe.child.stdin.end(call.subarray(58, 58 + 5 * 16_000))
  const transcript = await transcribe.stdout
  if (!transcript.includes('good evening harbor grill')) throw new Error(`${transcript}${await transcribe.stderr}`)
  return 'the command serves, with its page, and transcribes'
}
