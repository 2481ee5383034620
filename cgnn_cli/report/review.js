"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const cards = data.ids.map((id, number) => document.getElementById("c" + number));
  const byId = name => document.getElementById(name);
  const place = "cgnn-review " + data.run + " " + data.about;
  let decisions = new Map();

  const warn = text => { byId("warning").textContent = text; byId("warning").hidden = false; };
  try {
    decisions = new Map(JSON.parse(localStorage.getItem(place) || "[]"));
  } catch (error) {
    warn("This browser keeps nothing for this page: export before you close it.");
  }
  const keep = () => {
    try {
      localStorage.setItem(place, JSON.stringify([...decisions]));
    } catch (error) {
      warn("This browser keeps nothing for this page: export before you close it.");
    }
  };

  // A decision is {answer, other}: other is the class of a node that is not what was asked about.
  const labelOf = decision => {
    if (decision.answer === "yes") return data.about;
    if (decision.answer !== "no") return "";
    return data.others.length === 1 ? data.others[0] : decision.other || "";
  };
  const labelled = () => data.ids.flatMap(id => {
    const label = decisions.has(id) ? labelOf(decisions.get(id)) : "";
    return label ? [[id, label]] : [];
  });
  const onLines = row => !/[\r\n]/.test(row.join(""));  // a row of labels is one line where they are read
  const rows = () => labelled().filter(onLines);
  const quoted = text => /[",\t]|^\s|\s$|^#/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  const table = () => [["id", "label"], ...rows()].map(row => row.map(quoted).join(",") + "\n").join("");

  const show = () => {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = byId("show").value;
    let shown = 0;
    cards.forEach((card, number) => {
      const decision = decisions.get(data.ids[number]);
      const answer = decision ? decision.answer : "open";
      const text = data.search[number];
      const visible = (wanted === "all" || wanted === answer) && words.every(word => text.includes(word));
      card.hidden = !visible;
      shown += visible;
    });
    byId("none").hidden = shown > 0;
    const counts = { yes: 0, no: 0, unsure: 0 };
    data.ids.forEach(id => { if (decisions.has(id)) counts[decisions.get(id).answer] += 1; });
    const decided = counts.yes + counts.no + counts.unsure, labels = rows().length, left = labelled().length - labels;
    byId("state").textContent = decided + " of " + cards.length + " decided: " + counts.yes + " yes, " + counts.no +
      " no, " + counts.unsure + " unsure. " + shown + " shown. The CSV has " + labels + (labels === 1 ? " label." : " labels.") +
      (left ? " " + left + " more cannot be in it: a line break is in the id or the class." : "");
    byId("export").disabled = labels === 0;
  };
  const draw = number => {
    const card = cards[number], decision = decisions.get(data.ids[number]);
    card.classList.remove("yes", "no", "unsure");
    if (decision) card.classList.add(decision.answer);
    card.querySelectorAll("input").forEach(input => { input.checked = !!decision && input.value === decision.answer; });
    card.querySelector(".clear").hidden = !decision;
    const other = card.querySelector(".other");
    if (other) {
      other.hidden = !decision || decision.answer !== "no";
      other.querySelector("select").value = decision && decision.other || "";
    }
  };
  const decide = (number, decision) => {
    if (decision) decisions.set(data.ids[number], decision); else decisions.delete(data.ids[number]);
    keep();
    draw(number);
    show();
  };

  document.querySelector("main").addEventListener("change", event => {
    const number = Number(event.target.dataset.card), before = decisions.get(data.ids[number]) || {};
    if (event.target.type === "radio") decide(number, { answer: event.target.value, other: before.other || "" });
    else decide(number, { answer: "no", other: event.target.value });
  });
  document.querySelector("main").addEventListener("click", event => {
    if (event.target.matches(".clear")) decide(Number(event.target.dataset.card), null);
  });
  byId("search").addEventListener("input", show);
  byId("show").addEventListener("change", show);
  byId("export").addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([table()], { type: "text/csv" }));
    const link = document.createElement("a");
    link.href = address;
    link.download = data.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  cards.forEach((card, number) => draw(number));
  show();
})();
