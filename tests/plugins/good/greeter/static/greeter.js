document.documentElement.dataset.greeted = "yes";
