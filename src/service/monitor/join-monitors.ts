import type { ServiceMonitor } from './service-monitor.js'

/** Tells all of them, in order; without any, nobody. */
export const joinMonitors = (monitors: readonly ServiceMonitor[]): ServiceMonitor => {
  const [only] = monitors
  if (only !== undefined && monitors.length === 1) return only
  return {
    sessionMoved: (...told) => {
      for (const monitor of monitors) monitor.sessionMoved(...told)
    },
    sessionStarted: (...told) => {
      for (const monitor of monitors) monitor.sessionStarted(...told)
    },
    sessionEnded: (...told) => {
      for (const monitor of monitors) monitor.sessionEnded(...told)
    },
    refused: (...told) => {
      for (const monitor of monitors) monitor.refused(...told)
    },
    authFailed: (...told) => {
      for (const monitor of monitors) monitor.authFailed(...told)
    },
    audio: (...told) => {
      for (const monitor of monitors) monitor.audio(...told)
    },
    firstPartial: (...told) => {
      for (const monitor of monitors) monitor.firstPartial(...told)
    },
    milestone: (...told) => {
      for (const monitor of monitors) monitor.milestone(...told)
    },
    noted: (...told) => {
      for (const monitor of monitors) monitor.noted(...told)
    },
    dropped: (...told) => {
      for (const monitor of monitors) monitor.dropped(...told)
    },
    nodeFailed: (...told) => {
      for (const monitor of monitors) monitor.nodeFailed(...told)
    },
  }
}

/** Tells nobody. */
export const silentMonitor: ServiceMonitor = joinMonitors([])
