// @ts-check
import { spawn } from 'node:child_process'

const defaultTimeoutMs = 120_000

/**
 * Runs a program to its end, without a shell and without stdin.
 *
 * @param {string} command
 * @param {ReadonlyArray<string>} args
 * @param {{ readonly cwd: string, readonly timeoutMs?: number }} options
 * @returns {Promise<{ code: number | null, stdout: string, stderr: string }>} code is null when it had to be killed
 */
export const runCommand = (command, args, { cwd, timeoutMs = defaultTimeoutMs }) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })

/**
 * Like `runCommand`, but a program that fails is an error that holds the end of what it said.
 *
 * @param {string} command
 * @param {ReadonlyArray<string>} args
 * @param {{ readonly cwd: string, readonly timeoutMs?: number }} options
 */
export const mustRun = async (command, args, options) => {
  const { code, stdout, stderr } = await runCommand(command, args, options)
  if (code === 0) return stdout
  const said = `${stdout}\n${stderr}`.trim().split('\n').slice(-25).join('\n')
  throw new Error(`${[command, ...args].join(' ')} ended with ${code ?? 'a time-out'}\n${said}`)
}
