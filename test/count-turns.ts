// Counts the turns of the event loop during a piece of work: in each, other tasks run.
export async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await work().finally(() => {
    isOver = true;
  });
  return turns;
}
